import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Processes that may use a part of a processor: a control group of Linux. */
export interface ProcessorShare {
  /** The command with its arguments, to be run in the group. */
  within(command: string, args: readonly string[]): [command: string, args: string[]];
  /** From now on the group has so many processors. */
  set(processors: number): Promise<void>;
  /** Every process of the group must have ended. */
  close(): Promise<void>;
}

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 20_000;

/** @returns why there can be none, where there can be none */
export async function processorShare(): Promise<ProcessorShare | string> {
  const isVersion2 = existsSync(join(ROOT, 'cgroup.controllers'));
  const folder = join(ROOT, isVersion2 ? '' : 'cpu', `bench-${process.pid}`);
  const set = async (processors: number) => {
    const quota = Math.round(processors * PERIOD_US);
    if (isVersion2) return writeFile(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`);
    await writeFile(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
    await writeFile(join(folder, 'cpu.cfs_quota_us'), String(quota));
  };
  try {
    await mkdir(folder);
    await set(1);
  } catch {
    return 'no right to give a process a share of the processor (cgroups)';
  }
  return {
    within: (command, args) => [
      '/bin/sh',
      ['-c', `echo $$ > ${folder}/cgroup.procs && exec "$0" "$@"`, command, ...args],
    ],
    set,
    close: () => rmdir(folder),
  };
}
