// SPDX-License-Identifier: Apache-2.0
// Whether this process reports, and where to: the variables of a TrainJob and of the launchers of distributed training.

/** Variables that the controller sets in every container of a training node. */
const urlName = "KUBEFLOW_TRAINER_SERVER_URL";
const caName = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
const tokenName = "KUBEFLOW_TRAINER_SERVER_TOKEN";

/** Names that were used before a release; a program that sees only them expects too much. */
const oldNames = ["KUBEFLOW_TRAINER_STATUS_URL", "KUBEFLOW_TRAINER_STATUS_CA_CERT", "KUBEFLOW_TRAINER_STATUS_TOKEN"];

const nodeRank = "PET_NODE_RANK";
const localRank = "LOCAL_RANK";

/** They name this process among all of a job, the most telling first. D2. */
const rankNames = ["RANK", nodeRank, "OMPI_COMM_WORLD_RANK", "JAX_PROCESS_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where reports go. */
export interface Endpoint {
  readonly url: string;
  readonly caFile: string;
  readonly tokenFile: string;
}

/** Finds the endpoint, or says in words what is missing or unusable. D1. */
export function readEnvironment(environment: Environment): Endpoint | string {
  const endpoint = {
    url: environment[urlName] ?? "",
    caFile: environment[caName] ?? "",
    tokenFile: environment[tokenName] ?? "",
  };
  const problems: string[] = [];
  for (const [name, value] of [
    [urlName, endpoint.url],
    [caName, endpoint.caFile],
    [tokenName, endpoint.tokenFile],
  ] as const) {
    if (value === "") {
      problems.push(`${name} is not set`);
    } else if (name === urlName && !isEndpoint(value)) {
      problems.push(`${name} is no https URL`);
    }
  }
  if (Object.values(endpoint).every((value) => value === "")) {
    const old = oldNames.filter((name) => (environment[name] ?? "") !== "");
    problems.push(...old.map((name) => `${name} is set but no longer read`));
  }
  return problems.length > 0 ? problems.join(", ") : endpoint;
}

/** Accepts absolute https URLs with a host alone: a token does not travel in the clear. */
function isEndpoint(text: string): boolean {
  // The URL parser finds a host in https:///p as well, so the form is checked first.
  if (!/^https:\/\/[^/?#\\]/i.test(text)) {
    return false;
  }
  try {
    return new URL(text).hostname !== "";
  } catch {
    return false;
  }
}

/** Says why another process reports, or nothing when this one does. D2. */
export function otherRank(environment: Environment, option?: unknown): string | undefined {
  if (typeof option === "number" || typeof option === "bigint") {
    return Number(option) === 0 ? undefined : `the option says rank ${String(option)}`;
  }
  for (const name of rankNames) {
    const rank = wholeNumber(environment[name]);
    if (rank === undefined) {
      continue;
    }
    if (rank !== "0") {
      return `${name} says rank ${rank}`;
    }
    const local = name === nodeRank ? (wholeNumber(environment[localRank]) ?? "0") : "0";
    return local === "0" ? undefined : `${localRank} says rank ${local} of the first node`;
  }
  return undefined;
}

/** Reads a number of any size that is not negative, as its digits without leading zeros. */
export function wholeNumber(text: string | undefined): string | undefined {
  const digits = /^[ \t\r\n]*0*([0-9]+)[ \t\r\n]*$/.exec(text ?? "")?.[1];
  return digits;
}
