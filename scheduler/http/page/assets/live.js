// The state of all jobs, kept up to date. Events come as server-sent events, or by polling if that fails. All that events
// don't show (counts, progress, times) is fetched every two seconds. Nothing is fetched while the page is hidden.
import {get} from './api.js';

const POLL_MS = 2000;
const MOST_EVENTS = 5000;

class Live extends EventTarget {
  runs = [];
  events = [];
  term = 0;
  clusterId = '';
  version = '';
  answeredAt = 0;      // when `runs` came, by performance.now()
  state = 'starting';  // live, polling, lost, locked
  lostSince = null;    // in state lost: since when, by Date.now()
  reason = '';         // in state lost: the scheduler's error; empty: it can't be reached
  hasDropped = false;  // the oldest events were dropped from `events`
  #source = null;
  #retryMs = 1000;
  #timer = null;
  #isAsking = false;
  #askAgain = false;
  #epoch = 0;          // number of unlocks; #ask ignores a refusal if its request began before the latest unlock

  start() {
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.#wake()));
    window.addEventListener('focus', () => this.state === 'locked' && this.#wake());
    this.#wake();
  }

  #wake() {
    if (this.state === 'locked') return this.#checkSession();
    this.#open();
    this.refresh();
  }

  // Unlocks if this browser may view the jobs now: the user may have logged in in another tab, or the scheduler may have
  // been restarted without a token.
  async #checkSession() {
    try {
      if ((await get('/api/v1/session')).may_view) this.unlock();
    } catch {
      // no answer: stay locked
    }
  }

  #rest() {
    this.#close();
    clearTimeout(this.#timer);
  }

  #close() {
    this.#source?.close();
    this.#source = null;
  }

  get lastNumber() {
    return this.events.length ? this.events[this.events.length - 1].number : 0;
  }

  #open() {
    if (this.#source || document.hidden || this.state === 'locked') return;
    const source = new EventSource(`/api/v1/changes?after=${this.lastNumber}`);
    this.#source = source;
    source.onopen = () => {
      this.#retryMs = 1000;
      this.#set('live');
      this.refresh();  // the scheduler may have been restarted
    };
    source.onmessage = (message) => {
      this.#add([JSON.parse(message.data).event]);
      this.refresh();
    };
    source.onerror = () => {
      if (this.#source !== source) return;
      this.#close();
      this.refresh();
      setTimeout(() => this.#open(), this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 1.6, 5000);
    };
  }

  #add(events) {
    const fresh = events.filter((event) => event.number > this.lastNumber);
    if (!fresh.length) return;
    for (const event of fresh) this.events.push(event);
    if (this.events.length > MOST_EVENTS) {
      this.events.splice(0, this.events.length - MOST_EVENTS);
      this.hasDropped = true;
    }
    this.dispatchEvent(new CustomEvent('events', {detail: fresh}));
    this.#changed();
  }

  // Fetches the state now. If a request is under way, fetches it again 0.3 s after its answer: the scheduler may repeat
  // an answer for a quarter of a second (Questions::kFresh), so the answer under way may be too old.
  refresh() {
    if (this.#isAsking) {
      this.#askAgain = true;
      return;
    }
    this.#ask();
  }

  async #ask() {
    clearTimeout(this.#timer);
    this.#isAsking = true;
    this.#askAgain = false;
    const epoch = this.#epoch;
    try {
      const status = await get('/api/v1/jobs');
      this.#take(status);
      if (this.#source?.readyState !== EventSource.OPEN) {
        this.#add((await get(`/api/v1/events?after=${this.lastNumber}`)).events);
        this.#set('polling');
      } else {
        this.#set('live');
      }
    } catch (error) {
      if (epoch !== this.#epoch) {
        this.#askAgain = true;
      } else if (error.status === 401 || error.status === 403) {
        this.#close();
        this.#set('locked');
      } else {
        this.#set('lost', error.status ? error.message : '');
      }
    }
    this.#isAsking = false;
    clearTimeout(this.#timer);
    if (document.hidden || this.state === 'locked') return;
    this.#timer = setTimeout(() => this.refresh(), this.#askAgain ? 300 : POLL_MS);
  }

  #take(status) {
    if (this.clusterId && (status.cluster_id !== this.clusterId || status.term !== this.term)) {
      this.events = [];
      this.hasDropped = false;
      this.#close();
      this.#open();
    }
    this.clusterId = status.cluster_id;
    this.term = status.term;
    this.version = status.version;
    this.runs = status.runs;
    this.answeredAt = performance.now();
    this.dispatchEvent(new Event('answer'));
    this.#changed();
  }

  #set(state, reason = '') {
    if (state === 'polling' && this.#source?.readyState === EventSource.CONNECTING && this.state === 'starting') return;
    if (state === this.state && reason === this.reason) return;
    if (state === 'lost' && this.state !== 'lost') this.lostSince = Date.now();
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event('connection'));
  }

  unlock() {
    ++this.#epoch;
    this.#set('starting');
    this.#wake();
  }

  #changed() {
    if (this.isPainting) return;
    this.isPainting = true;
    requestAnimationFrame(() => {
      this.isPainting = false;
      this.dispatchEvent(new Event('change'));
    });
  }

  // Returns the job's run with that number, or its latest run; null: there is none.
  runOf(job, number) {
    const runs = this.runs.filter((run) => run.job_id === job && (!number || run.run === number));
    return runs.reduce((latest, run) => (!latest || run.run > latest.run ? run : latest), null);
  }

  // Fetches the job's events that are older than those in `events`, from the scheduler.
  async eventsBefore(job) {
    const first = this.events[0]?.number ?? 0;
    const found = [];
    for (let after = 0, page = [null]; this.hasDropped && page.length > 0 && after < first;) {
      page = (await get(`/api/v1/events?job=${encodeURIComponent(job)}&after=${after}`)).events;
      found.push(...page.filter((event) => event.number < first));
      after = page[page.length - 1]?.number ?? first;
    }
    return found;
  }

  // Milliseconds since `runs` came.
  get staleMs() {
    return performance.now() - this.answeredAt;
  }
}

export const live = new Live();
