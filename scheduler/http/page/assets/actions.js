// What changes a job: asked back, with a reason that everybody is told.
import {jobPath, post} from './api.js';
import {announce, h} from './dom.js';
import {live} from './live.js';

const actions = {
  stop: {title: (job) => `Stop job ${job}?`, button: 'Stop the job', grave: true,
    what: 'All its processes are stopped and the run ends. It can’t be taken back.'},
  restart: {title: (job) => `Restart the processes of job ${job}?`, button: 'Restart', grave: true,
    what: 'All processes are stopped and started again in a new round. What is not in a checkpoint is lost.'},
  drain: {title: (job, node) => `Drain node ${node}?`, button: 'Drain',
    what: 'It leaves where the present round ends; until then its processes run on.'},
  undrain: {title: (job, node) => `Keep node ${node}?`, button: 'Keep it', what: 'It stays after all.'},
};

function confirmAction(verb, job, run, node) {
  const action = actions[verb];
  // Nobody restarts what has restarted since they looked. (To stop is the same in every round.)
  const round = verb === 'restart' ? live.runOf(job, run)?.round : undefined;
  const problem = h('p', {class: 'problem', role: 'alert'});
  const reason = h('input', {name: 'reason', required: true, maxlength: 200, autocomplete: 'off', placeholder: 'It stays in the events'});
  const go = h('button', {type: 'submit', class: action.grave ? 'grave' : 'main'}, action.button);
  const dialog = h('dialog', {'aria-labelledby': 'dialog-title'},
    h('form', {onsubmit: async (event) => {
      event.preventDefault();
      go.disabled = true;
      try {
        const answer = await post(jobPath(job, `/${verb}`), {reason: reason.value.trim(), run, round, ...(node ? {node_id: node} : {})});
        announce(answer.text ?? `${verb}: done`);
        dialog.close();
        live.refresh();
      } catch (error) {
        problem.textContent = error.message;
        go.disabled = false;
      }
    }},
    h('h2', {id: 'dialog-title'}, action.title(job, node)), h('p', {class: 'soft'}, action.what),
    h('label', {}, 'Reason', reason), problem,
    h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'), go)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  reason.focus();
}

// Who logged in only to look has no buttons.
export const onlyLooks = (session) => session.by === 'token' && !session.may_change;

// A button, which says why it can't be used where it can't.
export function actionButton(verb, label, session, job, run, node) {
  if (onlyLooks(session)) return null;
  return h('button', {type: 'button', disabled: !session.may_change, title: session.may_change ? null : session.why_not,
    onclick: () => confirmAction(verb, job, run, node)}, label);
}
