/** The seed of every run that names no other, so that CI never fails on a draw that nobody has seen. */
const fixed = 20_251_201

/**
 * What SRCIP_SEED asks for: nothing is the fixed seed, `random` a fresh one, a whole number itself.
 *
 * @throws Error for anything else
 */
export function seedFrom(text: string | undefined): number {
  if (text === undefined || text === '') return fixed
  if (text === 'random') return Math.floor(Math.random() * 2 ** 31)
  const seed = Number(text)
  if (!/^\d+$/.test(text) || seed >= 2 ** 31) {
    throw new Error(`SRCIP_SEED=${text} is neither "random" nor a whole number below 2147483648`)
  }
  return seed
}

/** Seed of everything that tests draw. A random one is drawn in vitest.config.ts, once for all files. */
export const propertySeed = seedFrom(process.env['SRCIP_SEED'])
