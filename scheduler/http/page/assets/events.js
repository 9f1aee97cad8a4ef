// A job's events as a timeline.
import {clock, day, h} from './dom.js';

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

// Returns `events` as a list, with a heading for each day. `events` must begin with the newest.
export function timeline(events) {
  const list = h('ol', {class: 'time-line'});
  let last = '';
  const today = day(Date.now());
  for (const event of events) {
    const on = day(event.unix_ms);
    if (on !== last && (last || on !== today)) list.append(h('li', {class: 'day'}, on));
    last = on;
    list.append(lineOf(event));
  }
  return list;
}
