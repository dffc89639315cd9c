import { CfnOutput, Fn, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** An output of the stack under this very name, wherever its construct stands. */
export function output(scope: Construct, name: string, description: string, value: string): void {
  new CfnOutput(scope, `${name}Output`, { description, value }).overrideLogicalId(name);
}

/** Eight characters that no other stack has: what outlived a stack of the same name may still hold a plain name. */
export function ownEnding(scope: Construct): string {
  const uuid = Fn.select(2, Fn.split('/', Stack.of(scope).stackId));
  return Fn.select(0, Fn.split('-', uuid));
}
