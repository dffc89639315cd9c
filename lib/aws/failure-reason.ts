/** What went wrong, in one word for the log: the service's error name, or the system's code where no answer came. */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
