import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import type { Form } from '../../lib/validators/form.ts';
import { formSchema } from '../crm/form-schema.ts';
import type { Bus } from './bus.ts';
import { docsRoutes } from './docs.ts';
import { allFaults, type FaultTargets, faultRoutes } from './fault-routes.ts';
import type { FirstCalls } from './first-calls.ts';
import { addPath, bodyOf, nameIn, Refusal } from './local-answers.ts';
import type { LocalCrm } from './local-crm.ts';
import type { Outbox } from './outbox.ts';
import { outboxRoutes } from './outbox-page.ts';
import { pageFiles, sendPage } from './pages.ts';
import type { SimulatedServer } from './platforms/simulated-server.ts';
import type { Captcha } from './stand-ins/captcha.ts';

/** What the local service shows of itself under `/_local`. */
export interface LocalState extends FaultTargets {
  outbox: Outbox;
  bus: Bus;
  crm: LocalCrm;
  /** The forms that the service was started with. */
  forms: readonly Pick<Form, 'id' | 'name'>[];
  /** A form of the CRM's records. */
  form(id: string): Promise<Form | undefined>;
  /** The provider of captchas, where the registration asks for one. */
  captcha: Captcha | undefined;
  /** What the page proposes to a person who has made no call yet. */
  firstCalls: FirstCalls;
  /** The environment that points an AWS client to the embedded services; the operators' command asks for it. */
  environment: Readonly<Record<string, string>>;
}

const MAX_BODY_BYTES = 65_536;
const LoginSchema = v.strictObject({ login: v.pipe(v.number(), v.integer(), v.minValue(1)), password: v.string() });

/** The routes of the local service alone: API reference, outbox, simulated servers and faults. `/` leads to the reference. */
export function localRoutes(app: FastifyInstance, state: LocalState): void {
  app.get('/', (_request, reply) => reply.header('cache-control', 'no-store').redirect('/_local/docs'));
  app.register(
    async (local) => {
      readsJson(local);
      answersProblems(local);
      local.addHook('onRequest', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      pageFiles(local);
      docsRoutes(local, state.firstCalls);
      outboxRoutes(local, { ...state, faults: () => allFaults(state) });
      faultRoutes(local, state);
      platformRoutes(local, state.platforms);
      eventRoutes(local, state.bus);
      addPath(local, '/clients', { GET: () => state.crm.clients() });
      formRoutes(local, state);
      captchaRoutes(local, state.captcha);
      for (const path of ['/register', '/register/']) {
        local.get(path, (_request, reply) => sendPage(reply, 'register'));
      }
      addPath(local, '/calls', { GET: () => state.firstCalls });
      addPath(local, '/environment', { GET: () => state.environment });
    },
    { prefix: '/_local' },
  );
}

/** Whatever media type a call names: people type these calls. */
function readsJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
    async (_request: unknown, body: string) => {
      try {
        return JSON.parse(body) as unknown;
      } catch {
        throw new Refusal(400, 'The body is not JSON.');
      }
    },
  );
}

function answersProblems(app: FastifyInstance): void {
  app.setNotFoundHandler(() => {
    throw new Refusal(404, 'The local service has no such path.');
  });
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof Refusal)) throw error;
    const document = { title: error.message, status: error.status, ...error.members };
    return reply
      .code(error.status)
      .header('content-type', 'application/problem+json')
      .send(Buffer.from(JSON.stringify(document)));
  });
}

/** `/events`: what was told on the event bus, oldest first, as a rule's target gets it. */
function eventRoutes(app: FastifyInstance, bus: Bus): void {
  addPath(app, '/events', {
    GET: () => bus.list(),
    DELETE: (_request, reply) => {
      bus.clear();
      return reply.code(204).send();
    },
  });
}

/** `/forms`, and `/forms/{id}`: a form as JSON Schema, as `npm run crm -- form` prints it. */
function formRoutes(app: FastifyInstance, { forms, form }: LocalState): void {
  addPath(app, '/forms', { GET: () => forms.map(({ id, name }) => ({ id, name })) });
  addPath(app, '/forms/:name', {
    GET: async (request) => {
      const found = await form(nameIn(request));
      if (found === undefined) throw new Refusal(404, 'No form has this id.');
      return formSchema(found);
    },
  });
}

/** `/captcha`: whether the registration asks for one, and a token as the widget of a page would get it. */
function captchaRoutes(app: FastifyInstance, captcha: Captcha | undefined): void {
  addPath(app, '/captcha', {
    GET: () => ({ needed: captcha !== undefined }),
    POST: () => {
      if (captcha === undefined)
        throw new Refusal(404, 'This service asks for no captcha. CAPTCHA=turnstile npm start does.');
      return { token: captcha.solve() };
    },
  });
}

/** `/platforms/…`: the simulated trading servers. */
function platformRoutes(app: FastifyInstance, platforms: ReadonlyMap<string, SimulatedServer>): void {
  const serverOf = (request: FastifyRequest): SimulatedServer => {
    const server = platforms.get(nameIn(request));
    if (server !== undefined) return server;
    throw new Refusal(404, 'No simulated server has this connection id.', { connections: [...platforms.keys()] });
  };
  addPath(app, '/platforms', { GET: () => [...platforms.keys()] });
  addPath(app, '/platforms/:name/accounts', { GET: (request) => serverOf(request).accounts() });
  addPath(app, '/platforms/:name/login', {
    POST: (request) => {
      const server = serverOf(request);
      const { login, password } = bodyOf(request, LoginSchema);
      return { access: server.access(login, password) };
    },
  });
}
