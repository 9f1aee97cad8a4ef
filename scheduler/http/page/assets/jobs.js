// The list of all jobs. Jobs that need a person's attention come first.
import {age, h, hasEnded, Part, path, sentenceOf, stateBadge} from './dom.js';
import {live} from './live.js';

const rankOf = (run) => ({recovering: 0, forming: 1, stopping: 2, failed: 3, running: 4, succeeded: 5, stopped: 5}[run.phase] ?? 6);

export class JobsView {
  constructor() {
    this.list = new Part(h('section', {class: 'sheet', 'aria-label': 'Jobs'}));
    this.title = new Part(h('div', {class: 'head'}));
    this.elements = [this.title.element, this.list.element];
  }

  update() {
    const active = live.runs.filter((run) => !hasEnded(run.phase)).length;
    this.title.show([active, live.runs.length, live.version], () => [
      h('h1', {}, 'Jobs'),
      h('p', {class: 'soft'}, live.version ? `${active} active, ${live.runs.length - active} ended. ms-scheduler ${live.version}.` : ''),
    ]);
    const runs = [...live.runs].sort((a, b) => rankOf(a) - rankOf(b) || b.opened_unix_ms - a.opened_unix_ms);
    const shown = runs.map((run) => [run.job_id, run.run, run.phase, sentenceOf(run), run.nodes_here, run.processes_running, run.restart_count]);
    this.list.show([shown, live.answeredAt > 0], () => (shown.length ? this.#table(shown) : h('p', {class: 'empty'},
      live.answeredAt > 0 ? 'This scheduler has no job yet.' : 'Loading …')));
    for (const run of runs) this.list.text(`${run.job_id} ${run.run}`, age(run.age_ms));
  }

  #table(rows) {
    return h('table', {class: 'jobs'},
      h('thead', {}, h('tr', {}, ['Job', 'State', 'What'].map((word) => h('th', {scope: 'col'}, word)),
        ['Nodes', 'Processes', 'Restarts', 'Age'].map((word) => h('th', {scope: 'col', class: 'num'}, word)))),
      h('tbody', {}, rows.map(([job, run, phase, text, nodes, processes, restarts]) => h('tr', {},
        h('td', {class: 'name'}, h('a', {href: path('job', job)}, job), run > 1 ? h('span', {class: 'soft small'}, ` run ${run}`) : null),
        h('td', {}, stateBadge(phase)),
        h('td', {class: 'what'}, text),
        h('td', {class: 'num', 'data-label': 'Nodes'}, nodes.toLocaleString('en')),
        h('td', {class: 'num', 'data-label': 'Processes'}, processes.toLocaleString('en')),
        h('td', {class: 'num', 'data-label': 'Restarts'}, restarts),
        h('td', {class: 'num', 'data-label': 'Age', 'data-text': `${job} ${run}`})))));
  }
}
