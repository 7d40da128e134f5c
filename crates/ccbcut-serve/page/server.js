// Talking to the server: requests that are tried again, jobs whose progress is streamed.

/** One name for this tab; the server runs one job for it at a time. */
export const tab = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");

/** A refusal of the server. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The server does not answer at all. */
export class Gone extends Error {}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** A request; a busy server is asked again when it says so. */
export async function ask(path, options = {}) {
  for (let attempt = 0; ; attempt += 1) {
    let reply;
    try {
      reply = await fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Gone("the server does not answer");
    }
    if (reply.ok) return reply;
    if (reply.status === 429 && attempt < 20) {
      await sleep(1000 * (Number(reply.headers.get("Retry-After")) || 1));
      continue;
    }
    let detail = `${reply.status} ${reply.statusText}`;
    try {
      detail = (await reply.json()).detail ?? detail;
    } catch { /* not JSON: the status must do */ }
    throw new Refused(reply.status, detail);
  }
}

export const askJson = async (path, options) => (await ask(path, options)).json();

/** Waits until the server answers again. */
export async function waitForServer() {
  for (;;) {
    try {
      return await askJson("/api/status");
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      await sleep(700);
    }
  }
}

let listening = null;
let turn = 0;

/** Stops listening to the job of this tab, and cancels it. */
export function cancelJob() {
  turn += 1;
  if (!listening) return;
  const { source, id, give } = listening;
  source.close();
  listening = null;
  give(null);
  fetch(`/api/jobs/${id}`, { method: "DELETE", keepalive: true }).catch(() => {});
}

/** Runs a job to its end; `onEvent(kind, data)` hears its story. Null when it was cancelled or another took its place. */
export async function run(order, onEvent) {
  turn += 1;
  const mine = turn;
  if (listening) {
    listening.source.close();
    listening.give(null);
    listening = null;
  }
  const body = JSON.stringify({ tab, ...order });
  const { job } = await askJson("/api/jobs", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  // Another took its place while the server was asked.
  if (mine !== turn) return null;
  return new Promise((done, fail) => {
    const source = new EventSource(`/api/jobs/${job}/events`);
    const own = { source, id: job, give: done };
    listening = own;
    const end = (settle, value) => {
      source.close();
      if (listening === own) listening = null;
      settle(value);
    };
    for (const kind of ["stage", "split", "sweep"]) {
      source.addEventListener(kind, (event) => onEvent?.(kind, JSON.parse(event.data)));
    }
    source.addEventListener("done", (event) => end(done, JSON.parse(event.data)));
    source.addEventListener("cancelled", () => end(done, null));
    source.addEventListener("failed", (event) => end(fail, new Refused(422, JSON.parse(event.data).detail)));
    source.addEventListener("error", async () => {
      // The browser tries again by itself unless the server said no; a server that went has forgotten the job.
      if (source.readyState === EventSource.CLOSED) return end(fail, new Gone("the job is gone"));
      try {
        await fetch("/api/status");
      } catch {
        end(fail, new Gone("the server does not answer"));
      }
    });
  });
}
