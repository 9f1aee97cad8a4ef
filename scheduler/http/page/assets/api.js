// Requests to the scheduler. A failed request throws a Problem. Its `status` is the HTTP status, or 0 if no answer came.

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const LOOK_MS = 8000;
const ACTION_MS = 15000;  // longer than the scheduler waits for its core (query_limit, 10 s), so that the scheduler's error comes first

async function ask(path, options) {
  let answer;
  const isAction = options?.method === 'POST';
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), isAction ? ACTION_MS : LOOK_MS);
  try {
    answer = await fetch(path, {cache: 'no-store', credentials: 'same-origin', signal: patience.signal, ...options});
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    let said = text.trim();
    try {
      said = JSON.parse(text).error ?? said;
    } catch {
      // not JSON: the answer is plain text
    }
    throw new Problem(answer.status, said);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(0, isAction && path !== '/login' ? 'No answer came. The action may have taken effect: look before you try again.'
      : 'the scheduler can’t be reached');
  } finally {
    clearTimeout(timer);
  }
}

export const get = (path) => ask(path);

// Sends X-Muster-Action, which a page of another site can't send. So the scheduler knows that this page sent the request.
export const post = (path, body) => ask(path, {
  method: 'POST',
  headers: {'Content-Type': 'application/json', 'X-Muster-Action': '1'},
  body: JSON.stringify(body),
});

export const jobPath = (job, rest = '') => `/api/v1/jobs/${encodeURIComponent(job)}${rest}`;
