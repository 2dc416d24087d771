// The number at an address under a seed: Philox 4x64-10 (Salmon et al. 2011), bit for bit as engine/core/coins.py
// has it from NumPy. 64-bit words are pairs of 32-bit halves, because a JavaScript number holds 53 bits.

export const PURPOSES = { draft: 1, accept: 2, target: 3, residual: 4, xtc: 5, noise: 6 };

const TWO_32 = 2 ** 32;
const ROUNDS = 10;
const [M0H, M0L, M1H, M1L] = [0xd2e7470e, 0xe14c6c93, 0xca5a8263, 0x95121157];
const [W0H, W0L, W1H, W1L] = [0x9e3779b9, 0x7f4a7c15, 0xbb67ae85, 0x84caa73b];

const low = (a, b) => Math.imul(a, b) >>> 0;

// The upper half of a 32 x 32 bit product, from two products that a double holds exactly.
function high(a, b) {
  return Math.floor((Math.floor((a * (b & 0xffff)) / 65536) + a * (b >>> 16)) / 65536);
}

// The 128-bit product of two 64-bit words, written to `out` from the highest 32 bits down.
function multiply(ah, al, bh, bl, out) {
  const mid = high(al, bl) + low(al, bh) + low(ah, bl);
  const top = high(al, bh) + high(ah, bl) + low(ah, bh) + Math.floor(mid / TWO_32);
  out[0] = high(ah, bh) + Math.floor(top / TWO_32);
  out[1] = top;
  out[2] = mid;
  out[3] = low(al, bl);
}

const [A, B, C] = [new Uint32Array(4), new Uint32Array(4), new Uint32Array(8)];

// Encipher the counter in C (four words, high half before low) under a key of one word and a zero word.
function encipher([keyHigh, keyLow]) {
  let [k0h, k0l, k1h, k1l] = [keyHigh, keyLow, 0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    multiply(M0H, M0L, C[0], C[1], A);
    multiply(M1H, M1L, C[4], C[5], B);
    C[0] = B[0] ^ C[2] ^ k0h;
    C[1] = B[1] ^ C[3] ^ k0l;
    C[4] = A[0] ^ C[6] ^ k1h;
    C[5] = A[1] ^ C[7] ^ k1l;
    C[2] = B[2];
    C[3] = B[3];
    C[6] = A[2];
    C[7] = A[3];
    k0h = (k0h + W0H + (k0l + W0L >= TWO_32 ? 1 : 0)) >>> 0;
    k0l = (k0l + W0L) >>> 0;
    k1h = (k1h + W1H + (k1l + W1L >= TWO_32 ? 1 : 0)) >>> 0;
    k1l = (k1l + W1L) >>> 0;
  }
}

const halves = (n) => [Math.floor(n / TWO_32), n >>> 0];

// A seed is a whole number from 0 to 2^63 - 1: a number, or a text or BigInt where a number is too coarse.
export function keyOf(seed) {
  if (typeof seed === "number") return halves(seed);
  const whole = BigInt(seed);
  return [Number(whole >> 32n), Number(whole & 0xffffffffn)];
}

// The first n output words at an address, as their top 53 bits: whole numbers below 2^53.
export function words(key, { purpose, position, attempt = 0 }, n) {
  const out = [];
  // NumPy steps the counter before its first output, so the first block enciphered is number 1.
  for (let block = 1; out.length < n; block += 1) {
    C.set([0, block, Math.floor(attempt / TWO_32), attempt >>> 0]);
    C.set([Math.floor(position / TWO_32), position >>> 0, 0, PURPOSES[purpose]], 4);
    encipher(key);
    for (let i = 0; i < 8 && out.length < n; i += 2) out.push(C[i] * 2 ** 21 + (C[i + 1] >>> 11));
  }
  return out;
}

// u in [0, 1), a multiple of 2^-53.
export const uniform = (key, at) => words(key, at, 1)[0] * 2 ** -53;
