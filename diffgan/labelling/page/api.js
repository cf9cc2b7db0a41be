// What the page asks, and what it says. Sayings go out one after another, and each is kept until it has landed.

const RETRY_MILLISECONDS = 5000;

// Another run may be served at the same address later on: what this page says is for its own alone.
let identity = null;

export function belongTo(run) {
  identity = run;
}

function headers(more = {}) {
  return identity === null ? more : { ...more, "x-run": identity };
}

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
  return answer(await fetch(`${path}?${new URLSearchParams(given)}`, { headers: headers() }));
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

  // Each has a name of its own: one whose answer was lost is said again, and must not be done twice.
  post(path, body) {
    this.#count(1);
    const named = { ...body, saying: `${Date.now()}-${Math.random()}` };
    const sent = this.#last.then(() => this.#send(path, named)).finally(() => this.#count(-1));
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
        const sent = { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body) };
        return await answer(await fetch(path, sent));
      } catch (error) {
        // 401: the server was started anew; opening its new address lets what was said here land, too. 409: it serves
        // another run now, and may serve this one again.
        if (error.status && error.status < 500 && ![401, 409].includes(error.status)) throw error;
        this.onFault(error);
        await new Promise((resolve) => {
          this.#wake = resolve;
          setTimeout(resolve, RETRY_MILLISECONDS);
        });
      }
    }
  }
}
