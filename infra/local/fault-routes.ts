import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { ENDINGS, type FaultStep, type Faults, STEP_FAULT_KINDS } from './faults.ts';
import type { FaultsState } from './live-state.ts';
import { nameParameter, parseBody, Refusal } from './local-answers.ts';

/** What can be made to fail: embedded services by name, simulated trading servers by connection id. */
export type FaultTargets = ReadonlyMap<string, Faults>;

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
export function faultRoutes(app: FastifyInstance, targets: FaultTargets): void {
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
  app.get('/faults/:name', (request) => targetState(findTarget(request)));
  app.put('/faults/:name', (request) => {
    const faults = findTarget(request);
    setFault(faults, parseBody(request, FaultSchema));
    return targetState(faults);
  });
  app.delete('/faults/:name', (request, reply) => {
    findTarget(request).clear();
    return reply.code(204).send();
  });
}

/** Every target with the kinds of fault that it has and those that wait. */
export function listFaults(targets: FaultTargets): FaultsState {
  return Object.fromEntries([...targets].map(([name, faults]) => [name, targetState(faults)]));
}

function targetState(faults: Faults): FaultsState[string] {
  const steps = Object.keys(faults.steps).length === 0 ? {} : { steps: faults.steps };
  return { kinds: faults.kinds, ...steps, waiting: faults.list(), version: faults.version };
}

function setFault(faults: Faults, { kind, ...rest }: v.InferOutput<typeof FaultSchema>): void {
  if (rest.times === 0) {
    faults.clear();
    return;
  }
  const { step } = rest;
  const here = step === undefined ? faults.kinds : (faults.steps[step] ?? []);
  const known = here.find((name) => name === kind);
  if (known === undefined) {
    const where = step === undefined ? 'This target has' : 'At this step the target has';
    throw new Refusal(400, `${where} no fault of this kind.`, { kinds: here });
  }
  if (known === 'retcode' && rest.code === undefined) throw new Refusal(400, 'code: is missing');
  faults.set({ kind: known, ...rest });
}
