import type { Bundle } from '../../infra/bundle.ts';
import { FUNCTIONS } from '../../infra/routes.ts';
import { type Benchmark, comparison, type Figure } from './figures.ts';
import { BARE, type HandlerName, theStage } from './stage.ts';

const MAX_KB = { 'request-registration': 360, 'create-tp5-account': 320, 'create-tp4-account': 320 } as const;

export const bundleSize: Benchmark = {
  name: 'bundle-size',
  about:
    'Minified bytes, without source maps, in units of 1,000: of what a cold start reads, and of everything with what is ' +
    'loaded on first use (document store, other channels, phone numbers, code pages).',
  run,
};

async function run(): Promise<Figure[]> {
  const { bundles } = await theStage();
  const size = (name: HandlerName, member: 'startUpBytes' | 'totalBytes') => [
    (bundles.get(name) ?? ({} as Bundle))[member] / 1_000,
  ];
  return FUNCTIONS.flatMap((name) => [
    comparison(`${name}: at start-up`, 'kB', size(name, 'startUpBytes'), 'bare SDK', size(BARE[name], 'startUpBytes'), {
      of: 'ours',
      most: MAX_KB[name],
    }),
    comparison(`${name}: all`, 'kB', size(name, 'totalBytes'), 'bare SDK', size(BARE[name], 'totalBytes')),
  ]);
}
