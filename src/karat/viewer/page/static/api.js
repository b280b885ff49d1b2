// Requests to the server that served this page. Each carries the token in a header.

const KEPT = "karat-token";
const channel = new BroadcastChannel("karat");
let token = null;

/**
 * An answer without what was asked for: `message` is the server's sentence, `body` the whole answer; `status` is 200 where
 * the runs or the labels do not allow it, 0 where no answer came.
 */
export class Refused extends Error {
  constructor(status, body) {
    super(body.error || `the server answered with ${status}`);
    Object.assign(this, { status, body });
  }
}

/**
 * Take the token from the fragment, from which it is erased at once, so that no bookmark or copied link holds it.
 *
 * It is kept in sessionStorage: a reload of this tab finds it again, another origin cannot read it, and it goes with the
 * tab. history.state would lose it at the first link, localStorage would keep it when the server is long gone. A new tab
 * asks the open ones over a BroadcastChannel, which reaches pages of this origin alone.
 */
export async function unlock() {
  const match = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (match) {
    token = match[1];
    history.replaceState(null, "", location.hash.replace(match[0], "") || "#/runs");
  }
  token ??= sessionStorage.getItem(KEPT);
  token ??= await new Promise((resolve) => {
    channel.onmessage = ({ data }) => data.token && resolve(data.token);
    channel.postMessage({ wanted: true });
    setTimeout(resolve, 300, null);
  });
  channel.onmessage = ({ data }) => data.wanted && token && channel.postMessage({ token });
  if (token) sessionStorage.setItem(KEPT, token);
}

async function call(path, options = {}) {
  const headers = { ...options.headers, "X-Karat-Token": token ?? "" };
  const response = await fetch(`api/${path}`, { ...options, headers, cache: "no-store", redirect: "error" }).catch(
    silent,
  );
  const body = await response.json();
  if (body.impossible) throw new Refused(response.status, { error: body.impossible });
  if (!response.ok) throw new Refused(response.status, body);
  return body;
}

function silent(error) {
  if (error.name === "AbortError") throw error;
  throw new Refused(0, { error: "The server does not answer. Is karat view still running?" });
}

/** GET; parameters that are empty are left out. */
export function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return call(query.size ? `${path}?${query}` : path);
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

const answers = new Map();

/** GET once: the answer to the same request is kept until `forget` is called. */
export function recall(path, parameters) {
  const key = JSON.stringify([path, parameters]);
  if (!answers.has(key)) {
    answers.set(key, get(path, parameters));
    answers.get(key).catch(() => answers.delete(key));
  }
  return answers.get(key);
}

let lastRuns = "";

/** All runs, fresh; where one of them changed, kept answers are forgotten. */
export async function allRuns() {
  const answer = await get("runs");
  const seen = JSON.stringify(answer.runs.map((run) => [run.id, run.created, run.state]));
  if (seen !== lastRuns) answers.clear();
  lastRuns = seen;
  return answer;
}
