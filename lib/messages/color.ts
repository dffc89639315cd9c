/** A color of the brand as red, green and blue from 0 to 255. */
export function rgbChannels(color: string): [red: number, green: number, blue: number] {
  const value = Number.parseInt(color.slice(1), 16);
  return [(value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff];
}

/** Black or white, which has more contrast on the color: always at least 4.5:1 (WCAG 2, AA). */
export function contrastingInk(color: string): 'black' | 'white' {
  const [red, green, blue] = rgbChannels(color).map(linear) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const onWhite = 1.05 / (luminance + 0.05);
  const onBlack = (luminance + 0.05) / 0.05;
  return onBlack > onWhite ? 'black' : 'white';
}

/** One channel of sRGB as linear light from 0 to 1 (WCAG 2, relative luminance). */
function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
