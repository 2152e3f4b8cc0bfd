// SPDX-License-Identifier: Apache-2.0
// Looks up the addresses of a name in a way that can be cut short.
//
// Node asks the system on a thread of its pool, and no process ends before all its threads have: with a name server that says
// nothing, process.exit would take half a minute. So files and name servers are asked here, as the system does it, and the
// system itself only when the name servers answer. D18.

import { lookup as askSystem, promises, type LookupAddress } from "node:dns";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";

const hostsFile = "/etc/hosts";
const resolvFile = "/etc/resolv.conf";

/** From one try of a name server to the next, in milliseconds; the limit of an attempt ends it all. */
const tryEvery = 1_000;
const tries = 4;

/** How much longer to wait for addresses of the other kind when some are known, in milliseconds. */
const otherKind = 100;

/** Errors of a name server that says nothing. */
const silence = new Set<unknown>([promises.TIMEOUT, promises.CANCELLED]);

/** What a lookup looks at. Tests change it. */
export interface Sources {
  /** The text of a file; undefined where there is none. */
  readonly read: (path: string) => string | undefined;
  /** Name servers, with their ports; those of the system by default. */
  readonly servers?: readonly string[];
  readonly askSystem: (name: string) => Promise<LookupAddress[]>;
}

const system: Sources = {
  read: (path) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  },
  askSystem: (name) =>
    new Promise((resolve, reject) => {
      askSystem(name, { all: true }, (fault, addresses) => {
        if (fault === null) {
          resolve(addresses);
        } else {
          reject(fault);
        }
      });
    }),
};

/** The addresses of a name. The signal ends the lookup. */
export async function addressesOf(name: string, signal: AbortSignal, sources: Sources = system): Promise<LookupAddress[]> {
  const own = inHosts(name, sources.read(hostsFile) ?? "");
  if (own.length > 0) {
    return own;
  }
  const resolver = new promises.Resolver({ timeout: tryEvery, tries });
  if (sources.servers !== undefined) {
    resolver.setServers(sources.servers);
  }
  const cancel = (): void => {
    resolver.cancel();
  };
  signal.addEventListener("abort", cancel);
  try {
    for (const candidate of candidates(name, sources.read(resolvFile) ?? "")) {
      signal.throwIfAborted();
      const found = await resolve(resolver, candidate);
      if (found.length > 0) {
        return found;
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    resolver.cancel();
  }
  return await sources.askSystem(name); // it may know more than files and name servers, and has no reason to wait
}

/** The addresses of one full name, none when it has none. Rejected when name servers say nothing. */
function resolve(resolver: promises.Resolver, name: string): Promise<LookupAddress[]> {
  return new Promise((done, fail) => {
    const found: LookupAddress[] = [];
    let open = 2;
    let silent: Error | undefined;
    const end = (): void => {
      if (found.length > 0 || silent === undefined) {
        done(found);
      } else {
        fail(silent);
      }
    };
    const add = async (kind: Promise<string[]>): Promise<void> => {
      let isAnswer = true; // to the question whether the name exists
      try {
        found.push(...(await kind).map((address) => ({ address, family: isIP(address) })));
      } catch (fault) {
        const { code } = fault as NodeJS.ErrnoException;
        silent = silence.has(code) ? (fault as Error) : silent;
        isAnswer = code === promises.NOTFOUND;
      }
      open--;
      if (open === 0) {
        end();
      } else if (isAnswer) {
        setTimeout(end, otherKind); // some name servers know nothing of IPv6 and stay silent
      }
    };
    void add(resolver.resolve4(name));
    void add(resolver.resolve6(name));
  });
}

/** The addresses that a file such as /etc/hosts gives to a name. */
export function inHosts(name: string, hosts: string): LookupAddress[] {
  const wanted = name.toLowerCase();
  const found: LookupAddress[] = [];
  for (const line of hosts.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 0 && names.some((other) => other.toLowerCase() === wanted)) {
      found.push({ address, family });
    }
  }
  return found;
}

/** The full names that a name may stand for, by a file such as /etc/resolv.conf. */
export function candidates(name: string, resolv: string): string[] {
  if (name.endsWith(".")) {
    return [name.slice(0, -1)];
  }
  const search = lastWords(resolv, "search") ?? lastWords(resolv, "domain") ?? [];
  const dots = lastWords(resolv, "options")?.find((option) => option.startsWith("ndots:"));
  const searched = search.map((domain) => `${name}.${domain.replace(/\.$/, "")}`).filter((full) => !full.endsWith("."));
  return name.split(".").length - 1 >= Number(dots?.slice("ndots:".length) ?? 1) ? [name, ...searched] : [...searched, name];
}

/** What stands behind a keyword on the last line that begins with it. */
function lastWords(resolv: string, keyword: string): string[] | undefined {
  const lines = resolv.split("\n").map((line) => line.trim().split(/\s+/));
  return lines
    .filter(([first]) => first === keyword)
    .at(-1)
    ?.slice(1);
}
