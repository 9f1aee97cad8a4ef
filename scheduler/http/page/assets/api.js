// Requests. An error has `status`: 0 where the scheduler could not be reached.

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, options) {
  let answer;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), 8000);
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
    throw new Problem(0, 'the scheduler can’t be reached');
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
