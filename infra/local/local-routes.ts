import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import type { Form } from '../../lib/validators/form.ts';
import { formJsonSchema } from '../ops/form.ts';
import { type Faults, type FaultTargets, listFaults } from './faults.ts';
import { type LiveSources, outboxRoutes } from './outbox-page.ts';
import { nameParameter, pageRoutes } from './pages.ts';
import type { SimulatedServer } from './platforms/simulated-server.ts';
import type { Captcha } from './stand-ins/captcha.ts';

/** The data that the routes below `/_local` show. */
export interface LocalState extends LiveSources {
  /** The captcha provider, if the registration needs one. */
  captcha: Captcha | undefined;
  platforms: ReadonlyMap<string, SimulatedServer>;
  /** The settings of the functions. */
  environment: Readonly<Record<string, string>>;
  /** The forms that the service was started with. */
  forms: readonly Pick<Form, 'id' | 'name'>[];
  /** A form of the CRM's records. */
  form(id: string): Promise<Form | undefined>;
}

const MAX_BODY_BYTES = 65_536;
const LoginSchema = v.strictObject({ login: v.pipe(v.number(), v.integer(), v.minValue(1)), password: v.string() });

/** The routes below `/_local`. `/` redirects to the API reference. */
export function localRoutes(app: FastifyInstance, state: LocalState): void {
  app.get('/', (_request, reply) => reply.header('cache-control', 'no-store').redirect('/_local/docs'));
  app.register(
    async (local) => {
      acceptJson(local);
      answerProblems(local);
      local.addHook('onRequest', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      pageRoutes(local);
      outboxRoutes(local, state);
      faultRoutes(local, state.targets);
      dataRoutes(local, state);
      local.get('/calls', () => state.firstCalls);
      local.get('/environment', () => state.environment);
    },
    { prefix: '/_local' },
  );
}

/** Takes every media type as JSON: people type these calls. Some clients name a type without a body. */
function acceptJson(app: FastifyInstance): void {
  const options = { parseAs: 'string', bodyLimit: MAX_BODY_BYTES } as const;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', options, async (_request: unknown, body: string) =>
    body ? JSON.parse(body) : undefined,
  );
}

function answerProblems(app: FastifyInstance): void {
  app.setNotFoundHandler(() => {
    throw new Refusal(404, 'The local service has no such path.');
  });
  app.setErrorHandler((error, _request, reply) => {
    const refusal = error instanceof SyntaxError ? new Refusal(400, 'The body is not JSON.') : error;
    if (!(refusal instanceof Refusal)) throw error;
    const document = { title: refusal.message, status: refusal.status, ...refusal.members };
    return reply
      .code(refusal.status)
      .header('content-type', 'application/problem+json')
      .send(Buffer.from(JSON.stringify(document)));
  });
}

/** Routes for events, deliveries, clients and accounts of the service, and for what a registration page needs. */
function dataRoutes(app: FastifyInstance, { bus, crm, deliveries, forms, form, captcha, platforms }: LocalState): void {
  app.get('/events', () => bus.list());
  app.get('/clients', () => crm?.clients() ?? []);
  app.get('/deliveries', () => deliveries.list());
  app.post('/deliveries', async () => {
    await deliveries.deliverNow();
    return deliveries.list();
  });

  app.get('/forms', () => forms.map(({ id, name }) => ({ id, name })));
  app.get('/forms/:name', async (request) => {
    const found = await form(nameParameter(request));
    if (found === undefined) throw new Refusal(404, 'No form has this id.');
    return formJsonSchema(found);
  });

  app.get('/captcha', () => ({ needed: captcha !== undefined }));
  app.post('/captcha', () => {
    if (captcha !== undefined) return { token: captcha.solve() };
    throw new Refusal(404, 'This service requires no captcha. CAPTCHA=turnstile npm start does.');
  });

  const findServer = (request: FastifyRequest): SimulatedServer => {
    const server = platforms.get(nameParameter(request));
    if (server !== undefined) return server;
    throw new Refusal(404, 'No simulated server has this connection id.', { connections: [...platforms.keys()] });
  };
  app.get('/platforms/:name/accounts', (request) => findServer(request).accounts());
  app.post('/platforms/:name/login', (request) => {
    const server = findServer(request);
    const { login, password } = parseBody(request, LoginSchema);
    return { access: server.access(login, password) };
  });
}

const numberUpTo = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(most));
const FaultSchema = v.strictObject({
  kind: v.optional(v.string()),
  times: v.optional(numberUpTo(1_000_000), 1),
  after: v.exactOptional(numberUpTo(1_000_000)),
  ms: v.exactOptional(numberUpTo(600_000)),
  code: v.exactOptional(numberUpTo(99_999)),
});

/** `/faults` and `/faults/{target}`: the faults of the next calls. */
function faultRoutes(app: FastifyInstance, targets: FaultTargets): void {
  const findTarget = (request: FastifyRequest): Faults => {
    const found = targets.get(nameParameter(request));
    if (found !== undefined) return found;
    throw new Refusal(404, 'No such target: only embedded services and simulated servers can be made to fail.', {
      targets: [...targets.keys()],
    });
  };
  app.get('/faults', () => listFaults(targets));
  app.delete('/faults', (_request, reply) => {
    for (const faults of targets.values()) faults.clear();
    return reply.code(204).send();
  });
  app.get('/faults/:name', (request) => findTarget(request).state());
  app.put('/faults/:name', (request) => {
    const faults = findTarget(request);
    setFault(faults, parseBody(request, FaultSchema));
    return faults.state();
  });
  app.delete('/faults/:name', (request, reply) => {
    findTarget(request).clear();
    return reply.code(204).send();
  });
}

function setFault(faults: Faults, { kind, ...rest }: v.InferOutput<typeof FaultSchema>): void {
  if (rest.times === 0) {
    faults.clear();
    return;
  }
  const known = faults.kinds.find((name) => name === kind);
  if (known === undefined) throw new Refusal(400, 'This target has no fault of this kind.', { kinds: faults.kinds });
  if ((known === 'retcode' || known === 'executed_retcode') && rest.code === undefined)
    throw new Refusal(400, 'code: is missing');
  faults.set({ kind: known, ...rest });
}

/** An error answer of a local route: one sentence, and members that name the alternatives. */
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

/** The body of a request, validated. @throws Refusal with every error */
function parseBody<S extends v.GenericSchema>({ body }: FastifyRequest, schema: S): v.InferOutput<S> {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  const errors = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'}: ${issue.message}`);
  throw new Refusal(400, errors.join('; '));
}
