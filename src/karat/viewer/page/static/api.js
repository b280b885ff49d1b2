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

/** What the server answers; members that are empty are left out. */
export async function post(path, body = {}, signal) {
  const there = Object.entries(body).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const response = await fetch(`api/${path}`, {
    ...{ method: "POST", headers: { "Content-Type": "application/json", "X-Karat-Token": token ?? "" } },
    ...{ body: JSON.stringify(Object.fromEntries(there)), signal, cache: "no-store", redirect: "error" },
  }).catch(silent);
  const answer = await response.json();
  if (answer.impossible) throw new Refused(response.status, { error: answer.impossible });
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

function silent(error) {
  if (error.name === "AbortError") throw error;
  throw new Refused(0, { error: "The server does not answer. Is karat view still running?" });
}

const answers = new Map();

/** Ask once: the answer to the same request is kept until the runs change. */
export function recall(path, parameters) {
  const key = JSON.stringify([path, parameters]);
  if (!answers.has(key)) {
    answers.set(key, post(path, parameters));
    answers.get(key).catch(() => answers.delete(key));
  }
  return answers.get(key);
}

let lastRuns = "";

/** All runs, fresh; where one of them changed, kept answers are forgotten. */
export async function allRuns() {
  const answer = await post("runs");
  const seen = JSON.stringify(answer.runs.map((run) => [run.id, run.created, run.state]));
  if (seen !== lastRuns) answers.clear();
  lastRuns = seen;
  return answer;
}
