/** CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), the checksum of the PROXY v2 TLV 0x03 (specification 2.2.3, RFC 4960 appendix B). */
const table = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  table[byte] = value >>> 0
}

/** Checksum of the bytes as an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}
