// An index policy in JavaScript: entries lie as close as a typical fetch that seeks makes worth while, and far apart where nobody seeks.
//
//   scripts/examples.sh js       makes target/plugins/examples/policy-js.wasm of it, with the engine QuickJS in it

// Leaves a bound out: numbers are doubles here, and the largest one of the contract is none of them.
const UNBOUNDED = Number.MAX_SAFE_INTEGER;
const FARTHEST = 65536;

let wastePercent = 10;

export const describe = {
  describe() {
    const schema = {
      type: "object",
      additionalProperties: false,
      properties: {
        waste_percent: {
          type: "integer", minimum: 1, maximum: 100, default: 10,
          description: "Bytes read in vain before a record that is sought, for each 100 of a typical fetch",
        },
      },
    };
    const summary = "Indexes for the size of the fetches that seek; written in JavaScript";
    return { name: "policy-js", version: "1.0.0", summary, configSchema: JSON.stringify(schema) };
  },
};

export const index = {
  // The host has checked the config against the schema.
  init(config, context) {
    wastePercent = JSON.parse(config).waste_percent ?? wastePercent;
  },

  decide(view) {
    const wasted = (Number(view.fetchP50Bytes) * wastePercent) / 100;
    const bytes = view.seeksPerMin > 0 && wasted > 0 ? Math.min(Math.round(wasted), FARTHEST) : FARTHEST;
    return { bytes, records: UNBOUNDED, timeMs: UNBOUNDED };
  },
};
