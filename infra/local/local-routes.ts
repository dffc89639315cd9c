import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import { docsPage } from './docs.ts';
import {
  DATABASE_FAULT_KINDS,
  type FaultKind,
  type FaultStep,
  type Faults,
  PLATFORM_FAULT_KINDS,
  SERVICE_FAULT_KINDS,
  STEP_FAULT_KINDS,
} from './faults.ts';
import type { FirstCalls } from './first-calls.ts';
import { readBody, sendJson } from './gateway.ts';
import type { Outbox } from './outbox.ts';
import { outboxPage, sendOutboxPage } from './outbox-page.ts';
import type { SimulatedServer } from './platforms/simulated-server.ts';

/** What the local service shows of itself under `/_local`. */
export interface LocalState {
  outbox: Outbox;
  /** The simulated trading servers by connection id. */
  platforms: ReadonlyMap<string, SimulatedServer>;
  /** The faults of the embedded services, by the name of the target. */
  services: ReadonlyMap<string, Faults>;
  /** What the page proposes to a person who has made no call yet. */
  firstCalls: FirstCalls;
  /** The environment that points an AWS client to the embedded services; the operators' command asks for it. */
  environment: Readonly<Record<string, string>>;
}

const LoginSchema = v.strictObject({ login: v.pipe(v.number(), v.integer(), v.minValue(1)), password: v.string() });

const FaultSchema = v.strictObject({
  kind: v.optional(v.string()),
  times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000)), 1),
  after: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000))),
  ms: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000))),
  code: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(99_999))),
  step: v.exactOptional(v.picklist(Object.keys(STEP_FAULT_KINDS) as FaultStep[])),
});

const MAX_BODY_BYTES = 65_536;

/** A request under `/_local` that cannot be answered. */
class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly members: Record<string, unknown>;

  constructor(status: number, detail: string, members: Record<string, unknown> = {}) {
    super(detail);
    this.status = status;
    this.members = members;
  }
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** The decoded segments of the path that the pattern left open. */
  names: string[];
}
type Action = (call: Call) => void | Promise<void>;

/** The routes of the local service alone: API reference, outbox, simulated servers and faults. Answers false for every other path. */
export function localRoutes(state: LocalState) {
  const routes: { path: RegExp; methods: Record<string, Action> }[] = [
    ...docsPage(),
    ...outboxPage({ ...state, faults: allFaults }),
    {
      path: /^\/_local\/outbox$/,
      methods: {
        GET: ({ request, response }) => {
          response.setHeader('vary', 'accept');
          if (prefersHtml(request)) return sendOutboxPage(response);
          sendJson(response, 200, state.outbox.list());
        },
        DELETE: ({ response }) => {
          state.outbox.clear();
          sendNothing(response);
        },
      },
    },
    {
      path: /^\/_local\/platforms$/,
      methods: { GET: ({ response }) => sendJson(response, 200, [...state.platforms.keys()]) },
    },
    {
      path: /^\/_local\/platforms\/([^/]+)\/accounts$/,
      methods: { GET: ({ response, names }) => sendJson(response, 200, platform(names[0]).accounts()) },
    },
    {
      path: /^\/_local\/platforms\/([^/]+)\/login$/,
      methods: {
        POST: async ({ request, response, names }) => {
          const server = platform(names[0]);
          const { login, password } = await read(request, LoginSchema);
          sendJson(response, 200, { access: server.access(login, password) });
        },
      },
    },
    {
      path: /^\/_local\/faults$/,
      methods: {
        GET: ({ response }) => sendJson(response, 200, allFaults()),
        DELETE: ({ response }) => {
          for (const [, { faults }] of targets()) faults.clear();
          sendNothing(response);
        },
      },
    },
    {
      path: /^\/_local\/faults\/([^/]+)$/,
      methods: {
        GET: ({ response, names }) => sendJson(response, 200, shown(names[0])),
        PUT: async ({ request, response, names }) => {
          const { faults, kinds } = target(names[0]);
          const { kind, ...rest } = await read(request, FaultSchema);
          if (rest.times === 0) {
            faults.clear();
            return sendJson(response, 200, shown(names[0]));
          }
          const { step } = rest;
          const here = step === undefined ? kinds : (faults.steps[step] ?? []);
          const known = here.find((name) => name === kind);
          if (known === undefined) {
            const where = step === undefined ? 'This target has' : 'At this step the target has';
            throw new Refusal(400, `${where} no fault of this kind.`, { kinds: here });
          }
          if (known === 'retcode' && rest.code === undefined) throw new Refusal(400, 'code: is missing');
          faults.set({ kind: known, ...rest });
          sendJson(response, 200, shown(names[0]));
        },
        DELETE: ({ response, names }) => {
          target(names[0]).faults.clear();
          sendNothing(response);
        },
      },
    },
    { path: /^\/_local\/environment$/, methods: { GET: ({ response }) => sendJson(response, 200, state.environment) } },
  ];

  function targets(): [string, { faults: Faults; kinds: readonly FaultKind[] }][] {
    return [
      ...[...state.services].map(
        ([name, faults]) =>
          [name, { faults, kinds: name === 'dynamodb' ? DATABASE_FAULT_KINDS : SERVICE_FAULT_KINDS }] as const,
      ),
      ...[...state.platforms].map(([id, { faults }]) => [id, { faults, kinds: PLATFORM_FAULT_KINDS }] as const),
    ].map(([name, entry]) => [name, entry]);
  }

  function target(name = '') {
    const found = targets().find(([known]) => known === name)?.[1];
    if (found === undefined) {
      throw new Refusal(404, 'No such target: only embedded services and simulated servers can be made to fail.', {
        targets: targets().map(([known]) => known),
      });
    }
    return found;
  }

  function allFaults() {
    return Object.fromEntries(targets().map(([name]) => [name, shown(name)]));
  }

  function shown(name: string | undefined) {
    const { faults, kinds } = target(name);
    const steps = Object.keys(faults.steps).length === 0 ? {} : { steps: faults.steps };
    return { kinds, ...steps, waiting: faults.list(), version: faults.version };
  }

  function platform(id = ''): SimulatedServer {
    const server = state.platforms.get(id);
    if (server === undefined) {
      throw new Refusal(404, 'No simulated server has this connection id.', {
        connections: [...state.platforms.keys()],
      });
    }
    return server;
  }

  return async (request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> => {
    if (url.pathname !== '/' && url.pathname !== '/_local' && !url.pathname.startsWith('/_local/')) return false;
    response.setHeader('cache-control', 'no-store');
    try {
      await dispatch(routes, request, response, url);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const document = { title: error.message, status: error.status, ...error.members };
      sendJson(response, error.status, document, 'application/problem+json');
    }
    return true;
  };
}

async function dispatch(
  routes: { path: RegExp; methods: Record<string, Action> }[],
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  for (const { path, methods } of routes) {
    const found = path.exec(url.pathname);
    if (found === null) continue;
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    const action = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (action === undefined) {
      response.setHeader('allow', Object.keys(methods).join(', '));
      throw new Refusal(405, 'This path has no such method.', { methods: Object.keys(methods) });
    }
    await action({ request, response, names: found.slice(1).map(decode) });
    return;
  }
  throw new Refusal(404, 'The local service has no such path.');
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'The path is not well encoded.');
  }
}

async function read<S extends v.GenericSchema>(request: IncomingMessage, schema: S): Promise<v.InferOutput<S>> {
  const bytes = await readBody(request, MAX_BODY_BYTES);
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Refusal(400, 'The body is not JSON.');
  }
  const result = v.safeParse(schema, content);
  if (result.success) return result.output;
  const faults = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'}: ${wordsFor(issue)}`);
  throw new Refusal(400, faults.join('; '));
}

function wordsFor(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  if (issue.received === 'undefined') return 'is missing';
  return `must be ${issue.type === 'integer' ? 'a whole number' : (issue.expected ?? 'another value')}`;
}

/** True when a browser asks; curl and programs that take anything get JSON. */
function prefersHtml(request: IncomingMessage): boolean {
  return /\btext\/html\b/i.test(request.headers.accept ?? '');
}

function sendNothing(response: ServerResponse): void {
  response.writeHead(204).end();
}
