// Shows the stacks of processes, and their last output. Both are fetched only when the user presses a button: showing a
// stack stops the process for a moment, and the output may be private.
import {onlyLooks} from './actions.js';
import {jobPath, post} from './api.js';
import {announce, h, Part, path} from './dom.js';
import {live} from './live.js';

const LINES = 200;

const heading = (job, one) => h('h3', {}, h('a', {href: path('job', job, 'rank', one.rank)}, `Rank ${one.rank}`),
  h('span', {class: 'count'}, ` on ${one.host_name || one.node_id}${one.pid ? `, pid ${one.pid}` : ''}`));
const note = (one) => (one.note ? h('p', {class: 'soft small'}, one.note) : null);
const lines = (text, label) => (text ? h('pre', {class: 'lines', tabindex: 0, 'aria-label': label}, text) : null);

const asks = {
  stacks: {label: 'Show where it stands', labelOfAll: 'Show where they stand',
    body: (rank) => (rank === null ? {} : {ranks: [rank]}),
    show: (job, answer) => {  // a note that all ranks share is shown once
      const isOneNote = answer.ranks.every((one) => one.note === answer.ranks[0].note);
      return [isOneNote && answer.ranks.length ? note(answer.ranks[0]) : null,
        answer.ranks.map((one) => [heading(job, one), isOneNote ? null : note(one), lines(one.text, `Stack of rank ${one.rank}`)])];
    }},
  logs: {label: 'Show what it wrote last', body: (rank) => ({rank, lines: LINES}),
    show: (job, one) => [heading(job, one), note(one),
      lines(one.text + one.unfinished, `Last lines of rank ${one.rank}`) ?? h('p', {class: 'soft'}, 'It has written nothing.'),
      one.log_file ? h('p', {class: 'soft small'}, 'All of it: ', h('code', {}, one.log_file)) : null]},
};

// The part for one rank; `rank` null: for the slowest ranks.
export class ProcessPart {
  constructor(job, session, rank) {
    Object.assign(this, {job, session, rank});
    this.buttons = new Part(h('div', {class: 'buttons'}));
    this.answer = h('div', {'aria-live': 'polite'});
    this.element = h('section', {class: 'sheet processes', 'aria-label': 'What it does'},
      h('h2', {}, rank === null ? 'What the slowest ranks do' : 'What it does'), this.buttons.element, this.answer);
  }

  update() {
    const {may_change: mayAct, why_not: whyNot} = this.session;
    this.element.hidden = onlyLooks(this.session);
    this.buttons.show([mayAct, whyNot, this.isAsking], () => Object.keys(asks).filter((verb) => this.rank !== null || verb === 'stacks')
      .map((verb) => h('button', {type: 'button', disabled: !mayAct || this.isAsking, title: mayAct ? null : whyNot, onclick: () => this.#ask(verb)},
        this.rank === null ? asks[verb].labelOfAll : asks[verb].label)));
  }

  async #ask(verb) {
    this.isAsking = true;
    this.update();
    this.answer.replaceChildren(h('p', {class: 'soft'}, 'Asking the agent …'));
    try {
      const answer = await post(jobPath(this.job, `/${verb}`), {run: live.runOf(this.job)?.run ?? 0, ...asks[verb].body(this.rank)});
      this.answer.replaceChildren(...asks[verb].show(this.job, answer).flat(Infinity).filter(Boolean));
      announce('The agent has answered');
    } catch (error) {
      this.answer.replaceChildren(h('p', {class: 'problem', role: 'alert'}, error.message));
    }
    this.isAsking = false;
    this.update();
  }
}

export class StacksView {
  constructor(job, session) {
    this.part = new ProcessPart(job, session, null);
    this.elements = [h('div', {class: 'head'}, h('h1', {}, 'Stacks'),
      h('p', {class: 'sentence'}, 'The stacks of the ranks that are furthest behind, or of the first ranks if none reports its steps. A rank’s own page shows its stack.')),
      this.part.element];
  }

  update() {
    this.part.update();
  }
}
