import { randomBytes } from 'node:crypto';
import { startDatabase } from './database.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import { type Faults, senderFaults, serviceFaults } from './faults.ts';
import type { DeploymentSettings } from './local-settings.ts';
import { Bus, Outbox } from './outbox.ts';
import { AWS_REGION } from './rights/arn.ts';
import { type Caller, newAccessKeyId, type Right } from './rights/policy.ts';
import { functionRights } from './rights/stack-rights.ts';
import { startEvents } from './stand-ins/events.ts';
import { startS3 } from './stand-ins/s3.ts';
import { type SecretsOptions, startSecretsManager } from './stand-ins/secrets.ts';
import { SENDERS, type SenderName } from './stand-ins/senders.ts';
import { startSqs } from './stand-ins/sqs.ts';
import type { StandIn } from './stand-ins/stand-in.ts';

/** The services of AWS that the local service embeds, next to those that send messages. Each is a target of faults. */
const SERVICES = ['dynamodb', 's3', 'secrets', 'events', 'sqs'] as const;
type ServiceName = SenderName | (typeof SERVICES)[number];

/**
 * Starts every service of AWS that a function calls, empty. Calls must be signed with a key of this start, and are
 * judged by the rights of the key's owner.
 * @param settings a deployment's rights follow from them
 * @param resources the variables of all functions, which name their resources
 * @param secretValues by the secret's name
 * @param more the tags of secrets, by the secret's name, and callers next to the functions
 */
export async function startAws(
  settings: DeploymentSettings,
  resources: Readonly<Record<string, string>>,
  secretValues: Map<string, string>,
  more: Pick<SecretsOptions, 'tags'> & { callers?: Readonly<Record<string, readonly Right[]>> } = {},
) {
  const [outbox, bus, deliveries] = [new Outbox(), new Bus(), new DeliveryQueue()];
  bus.target = (event) => deliveries.send(event);
  const record = outbox.record.bind(outbox);
  const faults = Object.fromEntries([
    ...Object.values(SENDERS).map(({ name, about }) => [name, senderFaults(about)] as const),
    ...SERVICES.map((name) => [name, serviceFaults(name)] as const),
  ]) as Record<ServiceName, Faults>;
  const rights = await functionRights(settings, resources);
  const { administrator, callers, findAccessKey } = identities({ ...rights, ...more.callers });
  const standInOptions = (name: ServiceName) => ({ faults: faults[name], record, callers });

  const [senders, database, s3, secrets, events, sqs] = await Promise.all([
    Promise.all(
      Object.values(SENDERS).map(
        async ({ name, start }) => [name, await start(standInOptions(name), settings, resources)] as const,
      ),
    ),
    startDatabase({ faults: faults.dynamodb, callers }),
    startS3({ ...standInOptions('s3'), buckets: [resources.DOCUMENTS_BUCKET ?? ''] }),
    startSecretsManager({
      ...standInOptions('secrets'),
      secrets: secretValues,
      ...(more.tags && { tags: more.tags }),
    }),
    startEvents({ ...standInOptions('events'), buses: [resources.EVENT_BUS ?? ''], deliver: bus.deliver.bind(bus) }),
    startSqs({ ...standInOptions('sqs'), queue: deliveries, name: resources.WEBHOOK_QUEUE ?? '' }),
  ]);
  const sending = Object.fromEntries(senders) as Record<SenderName, StandIn>;
  const standIns = { ...sending, s3, secrets, events, sqs };
  /** Points an AWS client to the embedded services, as an administrator. */
  const environment: Readonly<Record<string, string>> = {
    AWS_REGION: AWS_REGION,
    AWS_ACCESS_KEY_ID: administrator,
    AWS_SECRET_ACCESS_KEY: randomBytes(20).toString('base64url'),
    AWS_ENDPOINT_URL_DYNAMODB: database.url,
    ...Object.fromEntries(
      Object.values(SENDERS).flatMap(({ name, clients }) =>
        clients.map((client) => [`AWS_ENDPOINT_URL_${client}`, sending[name].url]),
      ),
    ),
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    AWS_ENDPOINT_URL_EVENTBRIDGE: events.url,
    AWS_ENDPOINT_URL_SQS: sqs.url,
  };
  const close = async () => {
    deliveries.close();
    await Promise.all([database, ...Object.values(standIns)].map((one) => one.close()));
  };
  return { outbox, bus, deliveries, faults, database, standIns, environment, callers, findAccessKey, close };
}

function identities(rightsByName: Readonly<Record<string, readonly Right[]>>) {
  const administrator = newAccessKeyId();
  const callers = new Map<string, Caller>([[administrator, { name: 'administrator' }]]);
  const keys = new Map<string, string>();
  for (const [name, rights] of Object.entries(rightsByName)) {
    const key = newAccessKeyId();
    keys.set(name, key);
    callers.set(key, { name, rights });
  }
  // The key with which a client has the rights of a caller. A function outside the deployment gets an unknown key.
  return { administrator, callers, findAccessKey: (name: string) => keys.get(name) ?? newAccessKeyId() };
}
