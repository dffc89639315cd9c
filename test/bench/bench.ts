import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { coldStart, coldStartFarAway } from './cold-start.ts';
import { type Benchmark, type Figure, isMet, isNoisy, table } from './figures.ts';
import { growth } from './growth.ts';
import { prices } from './prices.ts';
import { privacy } from './privacy.ts';
import { refusals } from './refusals.ts';
import { closeStage } from './stage.ts';
import { warm } from './warm.ts';

/** `npm run bench`: the cost of the service, as ratios to a bare handler, all measured in one run. */

const BENCHMARKS: Benchmark[] = [coldStart, coldStartFarAway, warm, refusals, privacy, growth, prices];

const USAGE = `npm run bench -- [--only <name>]… [--quick]
  --only   ${BENCHMARKS.map(({ name }) => name).join(', ')}
  --quick  few repetitions: shows that it works, proves nothing
  --pairs  requests of each kind that privacy compares
`;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      pairs: { type: 'string' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const chosen = BENCHMARKS.filter(({ name }) => values.only === undefined || values.only.includes(name));
  const unknown = (values.only ?? []).filter((name) => !BENCHMARKS.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`There is no benchmark ${unknown.join(', ')}.\n${USAGE}`);

  const progress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  const all: Figure[] = [];
  process.stdout.write(`${machine()}\n`);
  for (const { name, about, run } of chosen) {
    const pairs = values.pairs === undefined ? {} : { pairs: Number(values.pairs) };
    const figures = await run({ quick: values.quick, ...pairs, progress: (text) => progress(`${name}: ${text}`) });
    progress('');
    all.push(...figures);
    process.stdout.write(`\n${name}\n${wrapped(about)}\n\n${table(figures).join('\n')}\n`);
  }
  process.stdout.write(`\n${summary(all)}\n`);
}

function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const load = loadavg()[0]?.toFixed(1);
  return `Node ${process.version}, ${availableParallelism()} × ${model}, load ${load}. Medians, with quartiles in brackets.`;
}

function summary(figures: readonly Figure[]): string {
  const judged = figures.map(isMet).filter((met) => met !== undefined);
  const noisy = figures.filter(isNoisy).length;
  return [
    `${judged.filter(Boolean).length} of ${judged.length} aims are met.`,
    ...(noisy === 0 ? [] : [`${noisy} ratios are noisy: measure again on a quieter machine.`]),
  ].join(' ');
}

function wrapped(text: string): string {
  return text.replace(/(.{1,110})(?:\s+|$)/g, '  $1\n').trimEnd();
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  await closeStage();
}
