import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import {
  CRM_FAULT_KINDS,
  DATABASE_FAULT_KINDS,
  ENDINGS,
  EVENTS_FAULT_KINDS,
  type FaultKind,
  type FaultStep,
  type Faults,
  PLATFORM_FAULT_KINDS,
  PROVIDER_FAULT_KINDS,
  SERVICE_FAULT_KINDS,
  STEP_FAULT_KINDS,
} from './faults.ts';
import type { FaultsState } from './live-state.ts';
import { nameParameter, parseBody, Refusal } from './local-answers.ts';
import type { SimulatedServer } from './platforms/simulated-server.ts';

/** The targets of faults. */
export interface FaultTargets {
  /** The faults of the embedded services, by the name of the target. */
  services: ReadonlyMap<string, Faults>;
  /** The simulated trading servers by connection id. */
  platforms: ReadonlyMap<string, SimulatedServer>;
}

interface Target {
  faults: Faults;
  kinds: readonly FaultKind[];
}

const numberUpTo = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(most));
const FaultSchema = v.strictObject({
  kind: v.optional(v.string()),
  times: v.optional(numberUpTo(1_000_000), 1),
  after: v.exactOptional(numberUpTo(1_000_000)),
  ms: v.exactOptional(numberUpTo(600_000)),
  ending: v.exactOptional(v.picklist(ENDINGS)),
  code: v.exactOptional(numberUpTo(99_999)),
  step: v.exactOptional(v.picklist(Object.keys(STEP_FAULT_KINDS) as FaultStep[])),
});

/** `/faults` and `/faults/{target}`: the faults of the next calls. */
export function faultRoutes(app: FastifyInstance, at: FaultTargets): void {
  app.get('/faults', () => listFaults(at));
  app.delete('/faults', (_request, reply) => {
    for (const { faults } of faultTargets(at).values()) faults.clear();
    return reply.code(204).send();
  });
  app.get('/faults/:name', (request) => targetState(findTarget(at, nameParameter(request))));
  app.put('/faults/:name', (request) => {
    const target = findTarget(at, nameParameter(request));
    setFault(target, parseBody(request, FaultSchema));
    return targetState(target);
  });
  app.delete('/faults/:name', (request, reply) => {
    findTarget(at, nameParameter(request)).faults.clear();
    return reply.code(204).send();
  });
}

/** Every target with the kinds of fault that it has and those that wait. */
export function listFaults(at: FaultTargets): FaultsState {
  return Object.fromEntries([...faultTargets(at)].map(([name, target]) => [name, targetState(target)]));
}

function faultTargets({ services, platforms }: FaultTargets): Map<string, Target> {
  return new Map<string, Target>([
    ...[...services].map(([name, faults]) => [name, { faults, kinds: faultKinds(name) }] as const),
    ...[...platforms].map(([id, { faults }]) => [id, { faults, kinds: PLATFORM_FAULT_KINDS }] as const),
  ]);
}

const OWN_KINDS: Record<string, readonly FaultKind[]> = {
  dynamodb: DATABASE_FAULT_KINDS,
  events: EVENTS_FAULT_KINDS,
  crm: CRM_FAULT_KINDS,
  provider: PROVIDER_FAULT_KINDS,
};

function faultKinds(service: string): readonly FaultKind[] {
  return OWN_KINDS[service] ?? SERVICE_FAULT_KINDS;
}

function findTarget(at: FaultTargets, name: string): Target {
  const targets = faultTargets(at);
  const found = targets.get(name);
  if (found !== undefined) return found;
  throw new Refusal(404, 'No such target: only embedded services and simulated servers can be made to fail.', {
    targets: [...targets.keys()],
  });
}

function targetState({ faults, kinds }: Target): FaultsState[string] {
  const steps = Object.keys(faults.steps).length === 0 ? {} : { steps: faults.steps };
  return { kinds, ...steps, waiting: faults.list(), version: faults.version };
}

function setFault({ faults, kinds }: Target, { kind, ...rest }: v.InferOutput<typeof FaultSchema>): void {
  if (rest.times === 0) {
    faults.clear();
    return;
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
}
