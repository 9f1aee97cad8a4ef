// Requests. An error has `status`: 0 where the scheduler could not be reached.

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const LOOK_MS = 8000;
const ACTION_MS = 15000;  // more than the scheduler gives itself: an answer that comes late tells more than none

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
      // plain text
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

// Marked as meant: a page of another site can't send this header.
export const post = (path, body) => ask(path, {
  method: 'POST',
  headers: {'Content-Type': 'application/json', 'X-Muster-Action': '1'},
  body: JSON.stringify(body),
});

export const jobPath = (job, rest = '') => `/api/v1/jobs/${encodeURIComponent(job)}${rest}`;
