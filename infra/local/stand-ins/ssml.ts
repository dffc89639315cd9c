const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const DIGIT = '<say-as interpret-as="digits">\\d</say-as>';
const PAUSE = '<break time="(?:\\d{1,4}ms|\\ds)"/>';
const DIGITS = new RegExp(`${DIGIT}(?:${PAUSE}${DIGIT})*`, 'g');

/**
 * The spoken text of the SSML that the service makes: pauses as spaces, spelled digits as one number. Amazon Polly takes
 * more. @returns undefined for other tags, and for markup that is not escaped
 */
export function spokenText(ssml: string): string | undefined {
  const [, content] = /^<speak>(.*)<\/speak>$/s.exec(ssml) ?? [];
  const text = content
    ?.replaceAll(DIGITS, (spelled) => ` ${spelled.replaceAll(/<[^>]*>/g, '')} `)
    .replaceAll(new RegExp(PAUSE, 'g'), ' ');
  if (text === undefined || /<|&(?!(amp|lt|gt|quot|#39);)/.test(text)) return undefined;
  return text
    .replaceAll(/&([^;]+);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
