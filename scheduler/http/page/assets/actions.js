// The buttons and dialogs for actions that change a job. A dialog asks for confirmation and for a reason; the job's
// events show the reason.
import {jobPath, post} from './api.js';
import {announce, h} from './dom.js';
import {live} from './live.js';

const actions = {
  stop: {title: (job) => `Stop job ${job}?`, button: 'Stop the job', grave: true,
    what: 'All its processes are stopped and the run ends. You can’t undo this.'},
  restart: {title: (job) => `Restart the processes of job ${job}?`, button: 'Restart', grave: true,
    what: 'All processes are stopped and started again in a new round. What is not in a checkpoint is lost.'},
  drain: {title: (job, node) => `Drain node ${node}?`, button: 'Drain',
    what: 'The node leaves the job when the present round ends. Until then its processes keep running.'},
  undrain: {title: (job, node) => `Keep node ${node}?`, button: 'Keep it', what: 'The node is no longer drained: it stays in the job.'},
};

function confirmAction(verb, job, run, node) {
  const action = actions[verb];
  // Send the round that the user sees, so that the scheduler refuses if the job has restarted since. (A stop needs no
  // round: it has the same effect in each.)
  const round = verb === 'restart' ? live.runOf(job, run)?.round : undefined;
  const problem = h('p', {class: 'problem', role: 'alert'});
  const reason = h('input', {name: 'reason', required: true, maxlength: 200, autocomplete: 'off', placeholder: 'The job’s events show it'});
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

// True for a user who logged in with a read-only token. Such a user sees no buttons.
export const onlyLooks = (session) => session.by === 'token' && !session.may_change;

// Returns the button of an action; null for a user with a read-only token. If the user may not use it, it is disabled,
// and its title says why.
export function actionButton(verb, label, session, job, run, node) {
  if (onlyLooks(session)) return null;
  return h('button', {type: 'button', disabled: !session.may_change, title: session.may_change ? null : session.why_not,
    onclick: () => confirmAction(verb, job, run, node)}, label);
}
