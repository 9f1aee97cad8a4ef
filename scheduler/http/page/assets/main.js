// The frame of the page. It chooses the view by the part of the address after #, shows whether the scheduler answers, and
// shows the login.
import {get, post} from './api.js';
import {announce, clock, h, path} from './dom.js';
import {live} from './live.js';
import {JobsView} from './jobs.js';
import {JobView} from './job.js';
import {NodeView, RankView} from './places.js';
import {StacksView} from './processes.js';

const main = document.getElementById('main');
let view = null;
let refused = '';  // why the token in the address was refused
let shown = 'starting';  // the state of `live` that showConnection showed last

export const session = {may_view: true, may_change: false, why_not: '', takes_token: false, by: 'nothing', agents_at: null};

function makeView(parts) {
  const [kind, job, what, which] = parts;
  if (kind !== 'job' || !job) return new JobsView(session);
  if (what === 'node' && which) return new NodeView(job, which, session);
  if (what === 'rank' && which) return new RankView(job, which, session);
  if (what === 'run' && which) return new JobView(job, session, Number(which));
  if (what === 'stacks') return new StacksView(job, session);
  return new JobView(job, session);
}

function crumbsOf([kind, job, what, which]) {
  if (kind !== 'job' || !job) return [h('a', {href: '#/', 'aria-current': 'page'}, 'Jobs')];
  const crumbs = [h('a', {href: '#/'}, 'Jobs'), h('a', {href: path('job', job)}, job)];
  if (which) crumbs.push(h('span', {'aria-current': 'page'}, `${what} ${which}`));
  else if (what === 'stacks') crumbs.push(h('span', {'aria-current': 'page'}, what));
  else crumbs[1].setAttribute('aria-current', 'page');
  return crumbs;
}

function route() {
  if (live.state === 'locked') return;
  let parts = [];
  try {
    parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    // the address has a broken escape: show all jobs
  }
  view?.close?.();
  view = makeView(parts);
  main.replaceChildren(...view.elements);
  document.getElementById('crumbs').replaceChildren(...crumbsOf(parts));
  document.title = parts.length > 1 ? `${parts.slice(1).filter((part) => part !== 'node').join(' ')} – Muster` : 'Muster';
  window.scrollTo(0, 0);
  view.update();
}

function showConnection() {
  const mark = document.getElementById('connection');
  const outage = document.getElementById('outage');
  mark.dataset.state = live.state;
  const lost = live.reason ? 'No answers' : 'Disconnected';
  mark.textContent = {live: 'Live', polling: 'Live, by polling', lost, locked: 'Locked', starting: 'Connecting'}[live.state];
  outage.hidden = live.state !== 'lost';
  const before = shown;
  shown = live.state;
  if (live.state === 'lost') {
    const what = live.reason ? `No answers since ${clock(live.lostSince)}: ${live.reason.replace(/\.$/, '')}.` : `The scheduler has been out of reach since ${clock(live.lostSince)}.`;
    outage.textContent = `${what} This page shows the state from then and keeps trying to connect. Training goes on without the scheduler.`;
    announce('');
  } else if (live.state === 'locked') {
    showLogin();
  } else if (live.state !== 'starting') {
    announce('connected');
    if (before === 'lost') learnSession();  // the scheduler may have been restarted with other settings
  }
  if (before === 'locked' && live.state !== 'locked') {
    route();
    learnSession();
  }
}

async function learnSession() {
  try {
    Object.assign(session, await get('/api/v1/session'));
  } catch {
    return;
  }
  document.getElementById('logout').hidden = session.by !== 'token';
  view?.update();
}

// Logs in with the token in the page's address, as ms-worker prints it (#token=WORD), and removes it from there.
async function logInByAddress() {
  const word = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!word) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await post('/login', {token: word});
  } catch (error) {
    refused = `${error.message[0].toUpperCase()}${error.message.slice(1)}.`;
  }
}

async function showLogin() {
  view?.close?.();
  view = null;
  await learnSession();
  if (live.state !== 'locked') return;
  const problem = h('p', {class: 'problem', role: 'alert'}, refused);
  const word = h('input', {type: 'password', name: 'token', autocomplete: 'current-password', required: true, spellcheck: 'false'});
  const logIn = async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      await post('/login', {token: word.value.trim()});
      await learnSession();
      live.unlock();
    } catch (error) {
      problem.textContent = `${error.message[0].toUpperCase()}${error.message.slice(1)}.`;
      word.select();
    }
  };
  document.getElementById('crumbs').replaceChildren();
  main.replaceChildren(h('section', {class: 'sheet login', 'aria-labelledby': 'login-title'},
    h('h1', {id: 'login-title'}, 'Log in'),
    session.takes_token
      ? h('form', {onsubmit: logIn},
          h('p', {class: 'soft'}, 'Enter the scheduler’s token to see its jobs: the word in --http_token_file, or in --http_view_token_file.'),
          h('label', {}, 'Token', word), problem, h('button', {class: 'main', type: 'submit'}, 'Log in'))
      : h('p', {class: 'soft'}, 'To see the scheduler’s jobs, import a certificate of its authority into this browser, or set --http_token_file.')));
  word.focus();
}

function setUpTheme() {
  const button = document.getElementById('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  try {
    chosen = localStorage.getItem('muster-theme');
  } catch {
    // the browser keeps nothing for this page
  }
  const apply = () => {
    const theme = chosen ?? (system.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === 'dark' ? '☀' : '☾';
    button.setAttribute('aria-label', theme === 'dark' ? 'Use light colours' : 'Use dark colours');
    button.title = button.getAttribute('aria-label');
    window.dispatchEvent(new Event('themechange'));
  };
  button.addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem('muster-theme', chosen);
    } catch {
      // the browser keeps nothing for this page: the choice lasts until it is closed
    }
    apply();
  });
  system.addEventListener('change', apply);
  apply();
}

document.getElementById('logout').addEventListener('click', async () => {
  await post('/logout', {}).catch(() => {});
  location.reload();
});
// (The click is handled here, because the link's #main would change the address, and route() would leave the view.)
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener('hashchange', async () => {
  if (!new URLSearchParams(location.hash.slice(1)).has('token')) return route();
  await logInByAddress();
  live.unlock();
});
live.addEventListener('connection', showConnection);
live.addEventListener('change', () => view?.update());
setInterval(() => view?.tick?.(), 1000);
setUpTheme();
showConnection();
await logInByAddress();
route();
live.start();
learnSession();
