/** Seed of property tests: fixed, so that a run never fails on a draw that nobody has seen; SRCIP_SEED tries another. */
export const propertySeed = Number(process.env['SRCIP_SEED'] ?? 20_251_201)
