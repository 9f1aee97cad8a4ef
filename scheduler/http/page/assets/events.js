// A job's events as a timeline.
import {age, clock, day, h} from './dom.js';

const looks = {
  run_opened: ['run', '○'], node_joined: ['idle', '+'], round_closed: ['run', '▶'], round_aborted: ['wait', '↻'],
  round_stopped: ['idle', '↻'], run_stopping: ['idle', '■'], run_stopped: ['idle', '■'],
  process_failed: ['fail', '✕'], process_restarted: ['wait', '↻'], node_lost: ['fail', '✕'], node_gone: ['idle', '←'],
  node_left: ['idle', '←'], node_replaced: ['idle', '⇄'], node_returned: ['done', '→'], node_draining: ['idle', '↓'],
  node_stays: ['idle', '↑'], run_failing: ['fail', '■'], run_failed: ['fail', '✕'], run_succeeded: ['done', '✓'],
  remote_command: ['idle', '›'], remote_command_refused: ['fail', '⊘'],
};
const quiet = new Set(['node_joined', 'node_gone', 'node_recertified', 'remote_command']);
const loud = new Set(['process_failed', 'node_lost', 'run_failed', 'round_aborted', 'run_failing', 'remote_command_refused']);

const endsRound = new Set(['process_failed', 'node_lost', 'node_left', 'round_aborted', 'round_stopped']);

export const isQuiet = (event) => quiet.has(event.kind);

function lineOf(event) {
  const [kind, sign] = looks[event.kind] ?? ['idle', '·'];
  return h('li', {'data-kind': event.kind},
    h('time', {datetime: new Date(event.unix_ms).toISOString()}, clock(event.unix_ms)),
    h('span', {class: `dot s-${kind}`, 'aria-hidden': 'true'}, sign),
    h('div', {class: 'what'}, h('span', {class: loud.has(event.kind) ? 'loud' : null}, event.text),
      event.last_lines.length ? h('details', {'data-name': event.number}, h('summary', {}, 'Its last lines'),
        h('pre', {class: 'lines', tabindex: 0}, event.last_lines.join('\n'))) : null));
}

// Returns the events that belong to one restart as one entry, {restart: [events]}: from the first failure of a round to
// the closing of the next round. `events` must begin with the oldest.
export function byRestart(events) {
  const entries = [];
  let begun = null;  // where the present round's end begins in `entries`
  for (const event of events) {
    if (begun === null && endsRound.has(event.kind)) begun = entries.length;
    entries.push(event);
    if (event.kind !== 'round_closed') continue;
    const restart = begun === null ? [] : entries.slice(begun);
    if (restart.some((one) => one.kind === 'round_aborted' || one.kind === 'round_stopped')) entries.splice(begun, restart.length, {restart});
    begun = null;
  }
  return entries;
}

// The line of a restart: when the next round began, after how long, and why.
function lineOfRestart(events) {
  const abort = events.find((one) => one.kind === 'round_aborted' || one.kind === 'round_stopped');
  const last = events[events.length - 1];
  const [kind, sign] = looks[abort.kind];
  const round = /, round (\d+)\)/.exec(last.text)?.[1];
  const why = abort.text.replace(/^restarting the processes of job [^:]*: /, '');
  return h('li', {'data-kind': 'restart'},
    h('time', {datetime: new Date(last.unix_ms).toISOString()}, clock(last.unix_ms)),
    h('span', {class: `dot s-${kind}`, 'aria-hidden': 'true'}, sign),
    h('div', {class: 'what'}, h('details', {'data-name': last.number, class: 'restart'},
      h('summary', {}, h('span', {class: abort.kind === 'round_aborted' ? 'loud' : null}, `Round ${round ?? '?'} after ${age(last.unix_ms - events[0].unix_ms)}`), `: ${why}`),
      h('ol', {class: 'time-line'}, [...events].reverse().map(lineOf)))));
}

// Returns `entries` (see byRestart) as a list, with a heading for each day. They must begin with the newest.
export function timeline(entries) {
  const list = h('ol', {class: 'time-line'});
  let last = '';
  const today = day(Date.now());
  for (const entry of entries) {
    const on = day((entry.restart?.at(-1) ?? entry).unix_ms);
    if (on !== last && (last || on !== today)) list.append(h('li', {class: 'day'}, on));
    last = on;
    list.append(entry.restart ? lineOfRestart(entry.restart) : lineOf(entry));
  }
  return list;
}
