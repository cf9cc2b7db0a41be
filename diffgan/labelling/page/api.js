// What the page asks, and what it says. Sayings go out one after another, and each is kept until it has landed.

const RETRY_MILLISECONDS = 5000;

async function answer(response) {
  if (response.ok) return response.json();
  const text = await response.text();
  let message = text;
  try {
    message = JSON.parse(text).error ?? text;
  } catch {
    // a line of text it is
  }
  throw Object.assign(new Error(message), { status: response.status });
}

export async function get(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return answer(await fetch(`${path}?${new URLSearchParams(given)}`));
}

export function reason(error) {
  if (error.status) return error.message;
  return "diffgan does not answer: is `diffgan label` still running? Nothing is lost while this page stays open.";
}

export class Outbox {
  #last = Promise.resolve();
  #wake = null;
  waiting = 0;

  // onFault(error): it will be tried again; onChange(waiting): how many are on their way.
  constructor({ onFault, onChange }) {
    this.onFault = onFault;
    this.onChange = onChange;
  }

  post(path, body) {
    this.#count(1);
    const sent = this.#last.then(() => this.#send(path, body)).finally(() => this.#count(-1));
    this.#last = sent.catch(() => {});
    return sent;
  }

  settled() {
    return this.#last;
  }

  tryNow() {
    this.#wake?.();
  }

  #count(change) {
    this.waiting += change;
    this.onChange(this.waiting);
  }

  async #send(path, body) {
    for (;;) {
      try {
        const headers = { "content-type": "application/json" };
        return await answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
      } catch (error) {
        // 401: the server was started anew; opening its new address lets what was said here land, too.
        if (error.status && error.status < 500 && error.status !== 401) throw error;
        this.onFault(error);
        await new Promise((resolve) => {
          this.#wake = resolve;
          setTimeout(resolve, RETRY_MILLISECONDS);
        });
      }
    }
  }
}
