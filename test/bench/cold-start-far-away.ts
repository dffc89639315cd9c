import { BARE_SDK, compareFirstAnswers } from './cold-start.ts';
import { moveFarAway, ROUND_TRIPS_MS, TO_PLATFORM_MS } from './far-away.ts';
import { announce } from './figures.ts';
import { openStage } from './stage.ts';

const { DYNAMODB, SES } = ROUND_TRIPS_MS;
announce(
  'cold-start-far-away',
  `Cold starts with modeled networks: TLS and a round trip of ${DYNAMODB} ms to DynamoDB, ${SES} ms to Secrets Manager, SES and ` +
    `EventBridge, ${TO_PLATFORM_MS} ms to the trading server. ${BARE_SDK}`,
);
const stage = await openStage();
await compareFirstAnswers(stage, await moveFarAway(stage), 0.8);
process.exit();
