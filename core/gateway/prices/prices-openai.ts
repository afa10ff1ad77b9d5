import { type PriceTable, rows, tiered, voicePrice } from "./price.ts";

/**
 * OpenAI's models, from its price list as OpenAI's changelog, other gateways and open price tables quote it
 * (checked in November 2026). Left out: GPT-5.6 Sol, whose reduced price was promised until 2026-11-21 only.
 */
export const openaiPrices: PriceTable = {
  ...tiered(272_000, {
    "gpt-6-astra": [
      [10, 50, 1, 12.5],
      [20, 75, 2, 25],
    ],
    "gpt-6-sol": [
      [2, 10, 0.2, 2.5],
      [4, 15, 0.4, 5],
    ],
    "gpt-6-luna": [
      [0.1, 0.5, 0.01, 0.125],
      [0.2, 0.75, 0.02, 0.25],
    ],
    "gpt-5.6-terra": [
      [2, 12, 0.2],
      [4, 18, 0.4],
    ],
    "gpt-5.6-luna": [
      [0.2, 1.2, 0.02],
      [0.4, 1.8, 0.04],
    ],
    "gpt-5.5": [
      [5, 30, 0.5],
      [10, 45, 1],
    ],
    "gpt-5.4": [
      [2.5, 15, 0.25],
      [5, 22.5, 0.5],
    ],
    "gpt-5.4-pro": [
      [30, 180],
      [60, 270],
    ],
  }),
  ...rows({
    "gpt-5.4-mini": [0.75, 4.5, 0.075],
    "gpt-5.4-nano": [0.2, 1.25, 0.02],
    "gpt-5.3-codex": [1.75, 14, 0.175],
    "gpt-5.2": [1.75, 14, 0.175],
    "gpt-5.2-chat": [1.75, 14, 0.175],
    "gpt-5.2-codex": [1.75, 14, 0.175],
    "gpt-5.2-pro": [21, 168],
    "gpt-5.1": [1.25, 10, 0.125],
    "gpt-5.1-chat": [1.25, 10, 0.125],
    "gpt-5.1-codex": [1.25, 10, 0.125],
    "gpt-5.1-codex-max": [1.25, 10, 0.125],
    "gpt-5.1-codex-mini": [0.25, 2, 0.025],
    "gpt-5": [1.25, 10, 0.125],
    "gpt-5-chat": [1.25, 10, 0.125],
    "gpt-5-codex": [1.25, 10, 0.125],
    "gpt-5-mini": [0.25, 2, 0.025],
    "gpt-5-nano": [0.05, 0.4, 0.005],
    "gpt-5-pro": [15, 120],
    "gpt-4.5": [75, 150, 37.5],
    "gpt-4.1": [2, 8, 0.5],
    "gpt-4.1-mini": [0.4, 1.6, 0.1],
    "gpt-4.1-nano": [0.1, 0.4, 0.025],
    "gpt-4o": [2.5, 10, 1.25],
    "gpt-4o-mini": [0.15, 0.6, 0.075],
    "chatgpt-4o": [5, 15],
    "gpt-4o-2024-05-13": [5, 15],
    "gpt-4-turbo": [10, 30],
    "gpt-4-1106-preview": [10, 30],
    "gpt-4-0125-preview": [10, 30],
    "gpt-4": [30, 60],
    "gpt-3.5-turbo": [0.5, 1.5],
    "gpt-3.5-turbo-1106": [1, 2],
    o1: [15, 60, 7.5],
    "o1-mini": [1.1, 4.4, 0.55],
    "o1-pro": [150, 600],
    o3: [2, 8, 0.5],
    "o3-mini": [1.1, 4.4, 0.55],
    "o3-pro": [20, 80],
    "o3-deep-research": [10, 40, 2.5],
    "o4-mini": [1.1, 4.4, 0.275],
    "o4-mini-deep-research": [2, 8, 0.5],
    "text-embedding-3-small": [0.02, 0],
    "text-embedding-3-large": [0.13, 0],
    "text-embedding-ada-002": [0.1, 0],
  }),
};

const audio = { input: 32, cached: 0.4, output: 64 };
const smallAudio = { input: 10, cached: 0.3, output: 20 };
const image = { input: 5, cached: 0.5 };
const smallImage = { input: 0.8, cached: 0.08 };

/**
 * OpenAI's models that hear and speak, from their pages in its documentation (November 2026). Those of GPT Audio 1.5
 * and Mini, GPT Realtime and GPT-4o Realtime are from an open price table. No row for GPT Realtime Mini, on whose
 * cached text sources contradict each other.
 */
export const openaiVoicePrices: PriceTable = {
  "gpt-realtime-2.1": voicePrice([4, 24, 0.4], audio, image),
  "gpt-realtime-2.1-mini": voicePrice([0.6, 2.4, 0.06], smallAudio, smallImage),
  "gpt-realtime-2": voicePrice([4, 24, 0.4], audio, image),
  "gpt-realtime-1.5": voicePrice([4, 16, 0.4], audio, image),
  "gpt-realtime": voicePrice([4, 16, 0.4], audio, image),
  "gpt-4o-realtime-preview": voicePrice([5, 20, 2.5], { input: 40, cached: 2.5, output: 80 }),
  "gpt-4o-mini-realtime-preview": voicePrice([0.6, 2.4, 0.3], smallAudio),
  "gpt-audio-1.5": voicePrice([2.5, 10], { input: 32, output: 64 }),
  "gpt-audio": voicePrice([2.5, 10], { input: 32, output: 64 }),
  "gpt-audio-mini": voicePrice([0.6, 2.4], { input: 10, output: 20 }),
  "gpt-4o-audio-preview": voicePrice([2.5, 10], { input: 40, output: 80 }),
  "gpt-4o-mini-audio-preview": voicePrice([0.15, 0.6], { input: 10, output: 20 }),
  // Their sound cost more, by how much was not looked up.
  "gpt-4o-realtime-preview-2024-10-01": { input: 5, cached: 2.5, output: 20 },
  "gpt-4o-audio-preview-2024-10-01": { input: 2.5, output: 10 },
};
