// The list of all jobs. Jobs that need a person's attention come first.
import {age, copyButton, h, hasEnded, Part, path, sentenceOf, stateBadge} from './dom.js';
import {live} from './live.js';

const rankOf = (run) => ({recovering: 0, forming: 1, stopping: 2, failed: 3, running: 4, succeeded: 5, stopped: 5}[run.phase] ?? 6);
const FILTERS = {all: () => true, active: (run) => !hasEnded(run.phase), failed: (run) => run.phase === 'failed',
  stopped: (run) => run.phase === 'stopped', succeeded: (run) => run.phase === 'succeeded'};

// Returns how long the run has lasted, in milliseconds.
const lengthOf = (run) => (run.outcome ? run.outcome.ended_unix_ms - run.opened_unix_ms : run.age_ms);

export class JobsView {
  constructor(session) {
    Object.assign(this, {session, filter: 'all', word: ''});
    this.list = new Part(h('section', {class: 'sheet', 'aria-label': 'Jobs'}));
    this.title = new Part(h('div', {class: 'head'}));
    this.tools = new Part(h('div', {class: 'filters'}));
    this.input = h('input', {type: 'search', placeholder: 'Find a job or an owner', 'aria-label': 'Find a job or an owner',
      oninput: () => { this.word = this.input.value.trim().toLowerCase(); this.update(); }});
    this.elements = [this.title.element, this.tools.element, this.list.element];
  }

  update() {
    const active = live.runs.filter((run) => !hasEnded(run.phase)).length;
    this.title.show([active, live.runs.length, live.version], () => [
      h('h1', {}, 'Jobs'),
      h('p', {class: 'soft'}, live.version ? `${active} active, ${live.runs.length - active} ended. ms-scheduler ${live.version}.` : ''),
    ]);
    const counts = Object.entries(FILTERS).map(([name, fits]) => [name, live.runs.filter(fits).length]);
    this.tools.show([counts, this.filter], () => (live.runs.length < 2 ? null : [this.input,
      h('div', {class: 'chips', role: 'group', 'aria-label': 'Filter by state'}, counts.filter(([, count]) => count > 0).map(([name, count]) =>
        h('button', {type: 'button', 'aria-pressed': String(name === this.filter), onclick: () => { this.filter = name; this.update(); }}, `${name} ${count}`)))]));
    const fits = (run) => (FILTERS[this.filter](run) || live.runs.length < 2) && `${run.job_id} ${run.opened_by}`.toLowerCase().includes(this.word);
    const runs = live.runs.filter(fits).sort((a, b) => rankOf(a) - rankOf(b) || b.opened_unix_ms - a.opened_unix_ms);
    const shown = runs.map((run) => [run.job_id, run.run, run.phase, sentenceOf(run), run.opened_by, run.nodes_here, run.processes_running, run.restart_count]);
    this.list.show([shown, live.answeredAt > 0, live.runs.length, this.session.agents_at], () => {
      if (shown.length) return this.#table(shown);
      if (live.runs.length) return h('p', {class: 'empty'}, 'No job fits the filter.');
      return live.answeredAt > 0 ? this.#howToStart() : h('p', {class: 'empty'}, 'Loading …');
    });
    for (const run of runs) this.list.text(`${run.job_id} ${run.run}`, age(lengthOf(run)));
  }

  #howToStart() {
    const line = `ms-worker --sched_host ${this.session.agents_at ?? 'HOST:PORT'} --worker_num 8 --local_worker_num 8 -- python3 train.py`;
    return h('div', {class: 'empty'}, h('p', {}, 'This scheduler has no job yet. Start one on each node:'),
      h('p', {class: 'command'}, h('code', {}, line), copyButton(line)),
      h('p', {class: 'small'}, '--worker_num is the number of processes on all nodes together.'));
  }

  #table(rows) {
    return h('table', {class: 'jobs'},
      h('thead', {}, h('tr', {}, ['Job', 'State', 'What', 'Owner'].map((word) => h('th', {scope: 'col'}, word)),
        ['Nodes', 'Processes', 'Restarts', 'Duration'].map((word) => h('th', {scope: 'col', class: 'num'}, word)))),
      h('tbody', {}, rows.map(([job, run, phase, text, owner, nodes, processes, restarts]) => h('tr', {},
        h('td', {class: 'name'}, h('a', {href: path('job', job)}, job), run > 1 ? h('span', {class: 'soft small'}, ` run ${run}`) : null),
        h('td', {}, stateBadge(phase)),
        h('td', {class: 'what'}, text),
        h('td', {class: 'owner soft'}, owner),
        h('td', {class: 'num', 'data-label': 'Nodes'}, nodes.toLocaleString('en')),
        h('td', {class: 'num', 'data-label': 'Processes'}, processes.toLocaleString('en')),
        h('td', {class: 'num', 'data-label': 'Restarts'}, restarts),
        h('td', {class: 'num', 'data-label': 'Duration', 'data-text': `${job} ${run}`})))));
  }
}
