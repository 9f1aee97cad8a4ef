// The page of one node, and the page of one rank. Each has an address of its own, so that users can share a link to it.
import {actionButton} from './actions.js';
import {get, jobPath} from './api.js';
import {age, h, haltOf, hasEnded, Part, path, stateBadge} from './dom.js';
import {timeline} from './events.js';
import {live} from './live.js';
import {ProcessPart} from './processes.js';

const pairs = (list) => h('dl', {class: 'pairs'}, list.filter(([, value]) => value !== null && value !== undefined && value !== '')
  .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

class PlaceView {
  constructor(job, session) {
    Object.assign(this, {job, session, found: undefined});
    this.head = new Part(h('div', {class: 'head'}));
    this.facts = new Part(h('section', {class: 'sheet', 'aria-label': 'Facts'}));
    this.eventList = new Part(h('section', {class: 'sheet', 'aria-label': 'Its events'}));
    this.elements = [this.head.element, h('div', {class: 'two'}, this.facts.element, this.eventList.element)];
    this.onAnswer = () => this.refresh();
    live.addEventListener('answer', this.onAnswer);
  }

  close() {
    live.removeEventListener('answer', this.onAnswer);
    this.isClosed = true;
  }

  async refresh() {
    const run = live.runOf(this.job);
    if (this.isAsking || !run) return;
    this.isAsking = true;
    try {
      this.found = await this.find(run.run);
    } catch {
      // main.js shows that the scheduler does not answer
    }
    this.isAsking = false;
    if (!this.isClosed) this.update();
  }

  showMissing(what) {
    this.head.show([what, this.found], () => [h('h1', {}, what),
      h('p', {class: 'sentence'}, this.found === undefined ? 'Loading …' : 'It is not part of the latest run of this job.')]);
    this.facts.show(0, () => null);
    this.eventList.show(0, () => null);
  }

  showEvents(pattern) {
    const run = live.runOf(this.job);
    const events = live.events.filter((event) => event.job_id === this.job && event.run === run?.run && pattern.test(event.text)).slice(-100).reverse();
    this.eventList.show(events.map((event) => event.number), () => [h('h2', {}, 'Its events'),
      events.length ? timeline(events) : h('p', {class: 'soft'}, 'None yet.')]);
  }
}

export class NodeView extends PlaceView {
  constructor(job, node, session) {
    super(job, session);
    this.node = node;
    this.refresh();
  }

  // Returns the node from the pages of /nodes; null: it is not there. (The pages list nodes in the order of ids, but
  // nodes that have gone come last. So a node's offset may change.)
  async find(run) {
    if (this.offset !== undefined) {
      const page = (await get(jobPath(this.job, `/nodes?run=${run}&offset=${this.offset}&limit=1`))).jobs[0].nodes;
      if (page[0]?.node_id === this.node) return page[0];
    }
    for (let offset = 0, total = 1; offset < total && !this.isClosed; offset += 500) {
      const page = (await get(jobPath(this.job, `/nodes?run=${run}&offset=${offset}`))).jobs[0];
      total = page.total;
      const at = page.nodes.findIndex((node) => node.node_id === this.node);
      if (at >= 0) {
        this.offset = offset + at;
        return page.nodes[at];
      }
    }
    return null;
  }

  update() {
    const node = this.found, run = live.runOf(this.job);
    if (!node) return this.showMissing(`Node ${this.node}`);
    const state = node.draining && node.state === 'connected' ? 'draining' : node.is_spare && node.state === 'connected' ? 'spare' : node.state;
    const canDrain = run && !hasEnded(run.phase) && ['connected', 'disconnected'].includes(node.state);
    this.head.show([state, node.note, node.draining, canDrain, run?.run, this.session], () => [
      h('div', {class: 'head-line'}, h('h1', {}, `Node ${this.node}`), stateBadge(state),
        canDrain ? h('div', {class: 'actions'}, node.draining ? actionButton('undrain', 'Keep …', this.session, this.job, run.run, this.node)
          : actionButton('drain', 'Drain …', this.session, this.job, run.run, this.node)) : null),
      node.note || node.draining ? h('p', {class: 'sentence'}, node.draining || node.note) : null]);
    const {last_seen_ms: seenMs, ...facts} = node;
    this.facts.show([facts, seenMs === null], () => [h('h2', {}, 'Facts'), pairs([
      ['Host', node.host_name], ['Address', node.address], ['Role', node.role + (node.is_spare ? ', spare' : '')],
      ['Ranks', node.ranks.length ? h('span', {class: 'dots'}, node.ranks.map((rank) => (node.role === 'worker' ? h('a', {href: path('job', this.job, 'rank', rank)}, rank) : h('span', {}, rank)))) : 'none'],
      ['Slots', node.slots], ['Last heard', seenMs === null ? 'not since this scheduler started' : h('span', {'data-text': 'age'})],
      ['Agent', `pid ${node.pid}, version ${node.version}`], ['Incarnation', h('code', {}, node.incarnation)], ['Machine', h('code', {}, node.machine_id)]])]);
    this.facts.text('age', `${age(seenMs)} ago`);
    this.showEvents(new RegExp(`node ${escaped(this.node)}(?![\\w.-])`));
  }
}

export class RankView extends PlaceView {
  constructor(job, rank, session) {
    super(job, session);
    this.rank = Number(rank);
    this.process = new ProcessPart(job, session, this.rank);
    this.process.element.hidden = true;
    this.elements.push(this.process.element);
    this.refresh();
  }

  // Returns the rank; null: there is none. Its offset in /ranks is its number: workers come first, in the order of ranks.
  async find(run) {
    if (!Number.isInteger(this.rank)) return null;
    const found = (await get(jobPath(this.job, `/ranks?run=${run}&offset=${this.rank}&limit=1`))).jobs[0].ranks[0];
    return found?.rank === this.rank && found.role === 'worker' ? found : null;
  }

  update() {
    const rank = this.found, run = live.runOf(this.job);
    this.process.element.hidden = true;
    if (!rank) return this.showMissing(`Rank ${this.rank}`);
    if (run && !hasEnded(run.phase)) this.process.update();
    const cause = [run?.outcome?.cause, run?.last_abort].find((one) => one && one.rank === this.rank);
    this.head.show([rank.state, cause], () => [
      h('div', {class: 'head-line'}, h('h1', {}, `Rank ${this.rank}`), stateBadge(rank.state)),
      cause ? h('p', {class: 'sentence'}, cause.text) : null,
      cause?.last_lines.length ? h('pre', {class: 'lines', tabindex: 0, 'aria-label': 'Its last lines'}, cause.last_lines.join('\n')) : null]);
    const {since_progress_ms: stillMs, step, steps_per_second: rate, since_output_ms: quietMs, cpu_percent: cpu, ...facts} = rank;
    this.facts.show([facts, stillMs === null, step === null, rate === null, quietMs === null, cpu === null], () => [h('h2', {}, 'Facts'), pairs([
      ['Node', h('a', {href: path('job', this.job, 'node', rank.node_id)}, rank.node_id)], ['Host', rank.host_name], ['Address', rank.address],
      ['Local rank', rank.local_rank], ['Machine', rank.node_rank], ['Device', rank.device_id], ['Device address', rank.device_address],
      ['Process', rank.pid === null ? null : `pid ${rank.pid}`], ['Step', step === null ? null : h('span', {'data-text': 'step'})],
      ['Steps a second', rate === null ? null : h('span', {'data-text': 'rate'})],
      ['Last progress', stillMs === null ? null : h('span', {'data-text': 'age'})],
      ['Last output', quietMs === null ? (cpu === null ? null : 'none yet') : h('span', {'data-text': 'quiet'})],
      ['Processor', cpu === null ? null : h('span', {'data-text': 'cpu'})],
      ['It is', haltOf(rank.process_state)]])]);
    this.facts.text('rate', rate?.toPrecision(3) ?? '');
    this.facts.text('quiet', `${age(quietMs)} ago`);
    this.facts.text('cpu', `${cpu}% of one, with all that it has started`);
    this.facts.text('step', step?.toLocaleString('en') ?? '');
    this.facts.text('age', `${age(stillMs)} ago`);
    this.showEvents(new RegExp(`rank ${this.rank}\\b|node ${escaped(rank.node_id)}(?![\\w.-])`));
  }
}
