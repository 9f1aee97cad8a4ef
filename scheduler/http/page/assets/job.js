// The page of one job: its state in a sentence, the cause, missing nodes, the map, its progress, and its events.
import {actionButton, onlyLooks} from './actions.js';
import {get, jobPath} from './api.js';
import {age, announce, h, haltOf, hasEnded, isPlanned, moment, Part, path, plural, sentenceOf, stateBadge} from './dom.js';
import {byRestart, isQuiet, timeline} from './events.js';
import {live} from './live.js';
import {JobMap} from './map.js';
import {barPlot, linePlot} from './plots.js';

const SHOWN_EVENTS = 60;
const SHOWN_RUNS = 20;
const MOST_RANKS = 16;  // in the table of what they do
const MOST_PLOTTED = 500;  // ranks or nodes: as many as one answer of the API has

export class JobView {
  // `number`: the number of an earlier run of the job; 0: show the latest run.
  constructor(job, session, number = 0) {
    Object.assign(this, {job, session, number, earlier: undefined, before: [], showsAll: false, samples: [], ranks: [], nodes: [], total: 0, why: '', detailsAt: -1e9});
    const part = (tag = 'section', attributes = {class: 'sheet'}) => new Part(h(tag, attributes));
    this.head = part('div', {class: 'head'});
    this.waiting = part('section', {class: 'sheet waiting', 'aria-label': 'Missing nodes'});
    this.cause = part('section', {class: 'sheet cause', 'aria-label': 'Cause'});
    this.map = new JobMap(job);
    this.progress = part('section', {class: 'sheet', 'aria-label': 'Progress'});
    this.activity = part('section', {class: 'sheet', 'aria-label': 'What the ranks do'});
    this.lateness = part('section', {class: 'sheet', 'aria-label': 'Heartbeats'});
    this.people = part('section', {class: 'sheet', 'aria-label': 'Nodes to look at'});
    this.eventList = part('section', {class: 'sheet', 'aria-label': 'Timeline'});
    this.runs = part('section', {class: 'sheet', 'aria-label': 'Other runs'});
    this.map.element.hidden = true;
    this.elements = [this.head.element, this.waiting.element, this.cause.element, this.map.element, this.activity.element,
      h('div', {class: 'wide-and-narrow'}, this.eventList.element,
        h('div', {class: 'stack'}, this.people.element, this.progress.element, this.lateness.element, this.runs.element))];
    this.onAnswer = () => this.#refresh();
    live.addEventListener('answer', this.onAnswer);
    this.#refresh();
  }

  close() {
    live.removeEventListener('answer', this.onAnswer);
    this.map.close();
    this.isClosed = true;
  }

  // Returns the run to show; null: there is no such run; undefined: it is not known yet.
  #run() {
    if (!this.number) return live.runOf(this.job) ?? (live.answeredAt > 0 ? null : undefined);
    return live.runOf(this.job, this.number) ?? this.earlier;
  }

  // Fetches an earlier run, which is not in the list of jobs. Once is enough, because it does not change any more.
  async #findEarlier() {
    if (!this.number || this.earlier !== undefined || this.isFinding || live.runOf(this.job, this.number)) return;
    this.isFinding = true;
    try {
      this.earlier = (await get(jobPath(this.job, `?run=${this.number}`))).runs[0];
    } catch (error) {
      if (error.status === 404 || error.status === 400) this.earlier = null;
    }
    this.isFinding = false;
    if (!this.isClosed) this.update();
  }

  async #findBefore() {
    if (!live.hasDropped || this.hasBefore) return;
    this.hasBefore = true;
    try {
      this.before = await live.eventsBefore(this.job);
    } catch {
      this.hasBefore = false;
    }
  }

  // Fetches what the list of jobs does not have: the map at each call, the rest at most every three seconds.
  async #refresh() {
    this.#findEarlier();
    this.#findBefore();
    const run = this.#run();
    if (!run) return;
    if (run.progress?.slowest_step !== null && run.progress) {
      this.samples.push([Date.now(), run.progress.slowest_step, run.progress.fastest_step]);
      if (this.samples.length > 900) this.samples.shift();
    }
    if (!this.number) this.map.refresh(run.run);  // an earlier run's nodes have gone
    if (performance.now() - this.detailsAt < 3000 || (this.number && this.why)) return;
    this.detailsAt = performance.now();
    try {
      const query = `?run=${run.run}`;
      const [why, nodes, ranks] = await Promise.all([get(jobPath(this.job, `/why${query}`)), get(jobPath(this.job, `/nodes${query}`)),
        run.phase === 'running' ? get(jobPath(this.job, `/ranks${query}`)) : null]);
      this.why = why.runs[0].text;
      ({nodes: this.nodes, total: this.total} = nodes.jobs[0]);
      this.ranks = ranks?.jobs[0].ranks ?? [];
      if (this.total > MOST_PLOTTED) {  // nodes that have gone come last: fetch them, too
        const gone = await get(jobPath(this.job, `/nodes${query}&offset=${Math.max(MOST_PLOTTED, this.map.nodes.length)}`));
        this.nodes.push(...gone.jobs[0].nodes);
      }
    } catch {
      return;  // main.js shows that the scheduler does not answer
    }
    if (!this.isClosed) this.update();
  }

  update() {
    const run = this.#run();
    if (!run) {
      const missing = this.number ? 'This scheduler has no such run (any more): it keeps ended runs for --keep_runs_for.' : 'This scheduler has no such job.';
      this.head.show([run === null], () => [h('h1', {}, this.job), h('p', {class: 'sentence'}, run === null ? missing : 'Loading …')]);
      for (const part of [this.waiting, this.cause, this.activity, this.people, this.progress, this.lateness, this.eventList, this.runs]) part.show(0, () => null);
      this.map.hide();
      return;
    }
    const sentence = sentenceOf(run);
    if (sentence !== this.said && this.said !== undefined && !run.waiting) announce(`${this.job}: ${sentence}`);
    this.said = sentence;
    this.#showHead(run, sentence);
    this.#showWaiting(run);
    this.#showCause(run);
    this.#showActivity(run);
    this.#showPeople(run);
    this.#showProgress(run);
    this.#showLateness(run);
    this.#showEvents(run);
    this.#showRuns(run);
  }

  tick() {
    const run = this.#run();
    if (run) this.#showWaiting(run);
  }

  #showHead(run, sentence) {
    const remedy = run.outcome?.cause?.remedy || (!hasEnded(run.phase) && run.last_abort?.remedy) || '';
    const {may_change: mayAct, why_not: whyNot} = this.session;
    const shown = [run.run, run.phase, sentence, remedy, run.round, run.restart_count, run.nodes_here, run.nodes_disconnected,
      run.spares, run.processes_running, run.processes_done, run.settings, mayAct, whyNot];
    const figure = (name, value, extra) => h('div', {}, h('dt', {}, name), h('dd', {}, value, extra ? h('small', {}, ` ${extra}`) : null));
    this.head.show(shown, () => [
      h('div', {class: 'head-line'}, h('h1', {}, this.number ? `${this.job}, run ${run.run}` : this.job), stateBadge(run.phase),
        hasEnded(run.phase) ? null : h('div', {class: 'actions'},
          onlyLooks(this.session) ? null : h('a', {href: path('job', this.job, 'stacks')}, 'Stacks'),
          actionButton('restart', 'Restart …', this.session, this.job, run.run),
          actionButton('stop', 'Stop …', this.session, this.job, run.run))),
      h('p', {class: 'sentence', id: 'sentence'}, sentence),
      remedy ? h('p', {class: 'remedy'}, h('b', {}, 'What to do: '), remedy) : null,
      h('dl', {class: 'figures'},
        figure('Nodes', run.nodes_here.toLocaleString('en'), run.nodes_disconnected ? `${run.nodes_disconnected} away` : run.spares ? plural(run.spares, 'spare') : ''),
        figure('Processes', run.processes_running.toLocaleString('en'), run.processes_done ? `${run.processes_done.toLocaleString('en')} done` : run.settings.worker_num ? `of ${run.settings.worker_num.toLocaleString('en')}` : ''),
        figure('Round', run.round || '–'),
        figure('Restarts', run.restart_count, run.settings.max_restarts !== null ? `of ${run.settings.max_restarts} an hour` : ''),
        figure('Run', run.run), figure(hasEnded(run.phase) ? 'Opened' : 'Age', h('span', {'data-text': 'age'}), hasEnded(run.phase) ? 'ago' : '')),
      hasEnded(run.phase) || mayAct || onlyLooks(this.session) ? null : h('p', {class: 'soft small'}, `Restart and Stop can’t be used: ${whyNot}.`)]);
    this.head.text('age', age(run.age_ms));
  }

  #showWaiting(run) {
    const waiting = hasEnded(run.phase) ? null : run.waiting;
    const left = waiting?.time_left_ms === null || !waiting ? null : Math.max(0, waiting.time_left_ms - live.staleMs);
    this.waiting.show([waiting, left === null ? null : Math.ceil(left / 1000)], () => {
      if (!waiting) return null;
      const missing = waiting.workers_needed - waiting.workers_here;
      return [h('h2', {}, run.phase === 'recovering' ? 'Waiting to go on' : 'Waiting for nodes'),
        left === null ? null : h('p', {}, h('span', {class: 'countdown', role: 'timer'}, age(Math.ceil(left / 1000) * 1000)), h('span', {class: 'soft'}, ' left')),
        waiting.workers_needed ? h('div', {class: 'bar', role: 'progressbar', 'aria-label': 'Workers here', 'aria-valuemin': 0,
          'aria-valuemax': waiting.workers_needed, 'aria-valuenow': waiting.workers_here},
        h('i', {'width%': Math.min(100, (100 * waiting.workers_here) / waiting.workers_needed)})) : null,
        waiting.workers_needed ? h('p', {class: 'soft small'}, `${waiting.workers_here.toLocaleString('en')} of ${plural(waiting.workers_needed, 'worker')} here` +
          (missing > 0 ? `, ${missing.toLocaleString('en')} missing` : '') +
          (waiting.servers_needed ? `; ${waiting.servers_here} of ${plural(waiting.servers_needed, 'server')}` : '')) : null,
        h('p', {}, waiting.text.replace(/; [^;]* left$/, ''))];  // the countdown shows the time left
    });
    this.map.showMissing(waiting ? Math.max(0, waiting.workers_needed - waiting.workers_here) : 0);
  }

  #showCause(run) {
    const cause = run.outcome?.cause ?? run.last_abort;
    // A node that was told to leave may end a run, which then has failed.
    const planned = Boolean(cause && run.phase !== 'failed' && isPlanned(cause));
    const title = run.phase === 'stopped' ? 'Why it was stopped' : run.outcome?.cause ? 'Why it failed' : run.phase === 'stopping' ? 'Why it stops' : 'Last restart';
    this.cause.show([cause, title, this.why !== '', this.session.by], () => {
      if (!cause) return null;
      const where = cause.rank !== null ? h('a', {href: path('job', this.job, 'rank', cause.rank)}, `rank ${cause.rank}`) : null;
      const node = cause.node_id ? h('a', {href: path('job', this.job, 'node', cause.node_id)}, `node ${cause.node_id}`) : null;
      return [h('h2', {}, title, h('span', {class: 'count'}, where, where && node ? ' on ' : '', node, cause.host_name ? ` (${cause.host_name})` : '')),
        h('p', {}, cause.text),
        cause.failure_kind && !planned ? h('p', {class: 'soft small more'}, `Kind of failure: ${cause.failure_kind}${cause.reason ? ` (${cause.reason})` : ''}`) : null,
        cause.last_lines.length
          ? h('pre', {class: 'lines more', tabindex: 0, 'aria-label': 'Last lines of the first failure'}, cause.last_lines.join('\n'))
          : null,
        cause.log_file ? h('p', {class: 'soft small more'}, 'Whole log: ', h('code', {}, cause.log_file)) : null,
        this.why ? h('details', {class: 'more'}, h('summary', {}, 'The output of ms-ctl why'), h('pre', {class: 'lines', tabindex: 0, 'aria-label': 'The output of ms-ctl why', 'data-text': 'why'})) : null];
    });
    this.cause.text('why', this.why);
    this.cause.element.classList.toggle('planned', planned);
  }

  // Shows what the ranks do: of many, those that have been quiet for longest, halted ones first.
  #showActivity(run) {
    const known = run.phase === 'running' ? this.ranks.filter((rank) => rank.cpu_percent !== null) : [];
    const quiet = (rank) => Math.min(rank.since_output_ms ?? Infinity, rank.since_progress_ms ?? Infinity);
    const urgency = (rank) => (haltOf(rank.process_state) ? Infinity : quiet(rank));
    const shown = [...known].sort((a, b) => (known.length > MOST_RANKS ? urgency(b) - urgency(a) || a.rank - b.rank : a.rank - b.rank)).slice(0, MOST_RANKS);
    const hasSteps = known.some((rank) => rank.since_progress_ms !== null);
    this.activity.show(shown.map((rank) => [rank.rank, rank.node_id, rank.process_state, rank.cpu_percent, rank.step, rank.since_output_ms, rank.since_progress_ms]), () => {
      if (!shown.length) return null;
      const ago = (ms) => (ms === null ? '–' : `${age(ms)} ago`);
      return [h('h2', {}, 'What the ranks do', h('span', {class: 'count'}, known.length > shown.length ? `${shown.length} that are quiet for longest, of ${known.length}` : plural(known.length, 'rank'))),
        h('div', {class: 'scroll'}, h('table', {class: 'tight'},
          h('thead', {}, h('tr', {}, ['Rank', 'Node'].map((word) => h('th', {scope: 'col'}, word)),
            [...(hasSteps ? ['Step', 'Steps/s', 'Last progress'] : []), 'Last output', 'Processor'].map((word) => h('th', {scope: 'col', class: 'num'}, word)))),
          h('tbody', {}, shown.map((rank) => h('tr', {},
            h('td', {class: 'name'}, h('a', {href: path('job', this.job, 'rank', rank.rank)}, rank.rank), haltOf(rank.process_state) ? h('div', {class: 'small problem'}, haltOf(rank.process_state)) : null),
            h('td', {}, h('a', {href: path('job', this.job, 'node', rank.node_id)}, rank.node_id)),
            hasSteps ? [h('td', {class: 'num'}, rank.step?.toLocaleString('en') ?? '–'), h('td', {class: 'num'}, rank.steps_per_second?.toPrecision(3) ?? '–'), h('td', {class: 'num'}, ago(rank.since_progress_ms))] : null,
            h('td', {class: 'num'}, ago(rank.since_output_ms)),
            h('td', {class: 'num'}, `${rank.cpu_percent}%`))))))];
    });
  }

  // Adds the nodes in trouble that only the map knows. (`this.nodes` has the details of the first MOST_PLOTTED nodes, and
  // of those that have gone.)
  #withOthers(known) {
    const ids = new Set(known.map((node) => node.node_id));
    return [...known, ...this.map.oddNodes().filter((node) => !ids.has(node.node_id))];
  }

  #showPeople(run) {
    const known = this.nodes.filter((node) => !['connected', 'settled'].includes(node.state) || node.draining || node.is_spare || node.note);
    const odd = this.total > MOST_PLOTTED ? this.#withOthers(known) : known;
    const slow = run.progress && run.progress.slowest_step !== run.progress.fastest_step ? run.progress.slowest_ranks : [];
    this.people.show([odd.map((node) => [node.node_id, node.state, node.draining, node.is_spare, node.note]), slow], () => {
      if (!odd.length && !slow.length) return null;
      return [h('h2', {}, 'To look at'),
        slow.length ? h('p', {class: 'dots more'}, h('span', {class: 'soft'}, 'Slowest'), slow.map((rank) => h('a', {href: path('job', this.job, 'rank', rank)}, `rank ${rank}`)),
          run.progress.slowest_count > slow.length ? h('span', {class: 'soft'}, `and ${run.progress.slowest_count - slow.length} more`) : null) : null,
        odd.length ? h('table', {class: 'tight more'}, h('thead', {class: 'unseen'}, h('tr', {}, h('th', {}, 'Node'), h('th', {}, 'State'))),
          h('tbody', {}, odd.slice(0, 50).map((node) => h('tr', {},
            h('td', {class: 'name'}, h('a', {href: path('job', this.job, 'node', node.node_id)}, node.node_id), h('div', {class: 'soft small'}, node.draining || node.note || node.host_name)),
            h('td', {}, stateBadge(node.draining && node.state === 'connected' ? 'draining' : node.is_spare && node.state === 'connected' ? 'spare' : node.state)))))) : null,
        odd.length > 50 ? h('p', {class: 'soft small'}, `and ${odd.length - 50} more`) : null];
    });
  }

  #showProgress(run) {
    this.progress.show([run.progress, this.samples.length, this.ranks.map((rank) => rank.step)], () => {
      if (!run.progress) return null;
      const {slowest_step: slowest, fastest_step: fastest, watched, since_progress_ms: still} = run.progress;
      const slow = slowest === fastest ? [] : run.progress.slowest_ranks;
      const stepped = this.ranks.filter((rank) => rank.step !== null);
      return [h('h2', {}, 'Progress', h('span', {class: 'count'}, `${plural(watched, 'rank')} report it`)),
        slowest === null ? h('p', {}, `last progress ${age(still)} ago`) : h('p', {class: 'soft small'}, slowest === fastest ? `all at step ${slowest}` : `steps ${slowest} to ${fastest}`, `; longest without a step: ${age(still)}`),
        slowest === null ? null : linePlot('Steps over time', [{name: 'fastest', kind: 'run', points: this.samples.map(([at,, step]) => [at, step])}, {name: 'slowest', kind: 'wait', points: this.samples.map(([at, step]) => [at, step])}]),
        stepped.length > 1 && this.ranks.length < MOST_PLOTTED ? [h('p', {class: 'soft small more'}, 'Steps behind the fastest, by rank'),
          barPlot('Steps behind the fastest, by rank', stepped.map((rank) => [`rank ${rank.rank}`, fastest - rank.step, slow.includes(rank.rank) ? 'wait' : 'run']))] : null];
    });
  }

  #showLateness(run) {
    const heard = hasEnded(run.phase) ? [] : this.nodes.slice(0, MOST_PLOTTED).filter((node) => node.last_seen_ms !== null && ['connected', 'disconnected'].includes(node.state));
    this.lateness.show(heard.map((node) => [node.node_id, node.last_seen_ms]), () => {
      if (heard.length < 2) return null;
      const worst = [...heard].sort((a, b) => b.last_seen_ms - a.last_seen_ms)[0];
      return [h('h2', {}, 'Time since each node was last heard', h('span', {class: 'count'}, this.total > MOST_PLOTTED ? `longest of the first ${heard.length} nodes: ` : 'longest: ', `${worst.node_id}, ${age(worst.last_seen_ms)}`)),
        barPlot('Time since each node was last heard', heard.map((node) => [node.node_id, node.last_seen_ms, node.state === 'connected' ? 'run' : 'away']), age)];
    });
  }

  #showEvents(run) {
    const events = [...this.before, ...live.events].filter((event) => event.job_id === this.job && event.run === run.run);
    const shown = (this.showsAll ? events : events.filter((event) => !isQuiet(event))).slice(-SHOWN_EVENTS * (this.showsAll ? 20 : 1));
    this.eventList.show([shown.map((event) => event.number), this.showsAll, events.length], () => [
      h('h2', {}, 'Timeline', h('span', {class: 'count'}, `${shown.length} of ${plural(events.length, 'event')}`)),
      shown.length ? timeline((this.showsAll ? shown : byRestart(shown)).reverse()) : h('p', {class: 'soft'}, 'Nothing yet.'),
      events.length > shown.length || this.showsAll ? h('button', {type: 'button', class: 'more', onclick: () => {
        this.showsAll = !this.showsAll;
        this.update();
      }}, this.showsAll ? 'Show only what matters' : 'Show all events, also joins') : null]);
  }

  // Lists how the job's other runs ended, the newest first.
  #showRuns(run) {
    const ends = [...this.before, ...live.events].filter((event) => event.job_id === this.job && event.run !== run.run &&
      ['run_failed', 'run_stopped', 'run_succeeded'].includes(event.kind)).slice(-SHOWN_RUNS).reverse();
    const latest = live.runOf(this.job);
    this.runs.show([ends.map((event) => event.number), latest?.run], () => {
      const later = latest && latest.run !== run.run ? h('li', {}, h('a', {href: path('job', this.job)}, `Run ${latest.run}`), ', the latest') : null;
      if (!ends.length && !later) return null;
      return [h('h2', {}, 'Other runs'), h('ul', {class: 'plain'}, later, ends.filter((event) => event.run !== latest?.run).map((event) => h('li', {},
        h('a', {href: path('job', this.job, 'run', event.run)}, `Run ${event.run}`), ` ${moment(event.unix_ms)}: `,
        h('span', {class: 'soft'}, event.text))))];
    });
  }
}
