/** The npm package of the workerd binary has no types; Node sees its CommonJS exports as the default. */
declare module "workerd" {
  const exports: { /** Path of the binary. */ readonly default: string };
  export default exports;
}
