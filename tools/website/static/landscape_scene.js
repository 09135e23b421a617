// The two tasks of the loss landscape as landscape_state.py has them, which a test compares with this.
const STEPS = 90, RATE = 0.12;
const ANSWERS = {
  A: (w) => [w[1] - 0.08 * w[0] ** 2 + 1.0, [-0.16 * w[0], 1]],
  B: (w) => [0.6 * w[0] + 0.9 * w[1] - 0.5, [0.6, 0.9]],
};
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const plus = (a, b, times) => [a[0] + times * b[0], a[1] + times * b[1]];

export function scene(start, order, methods, { edge, names }) {
  const [old, fresh] = order.startsWith("first A") ? ["A", "B"] : ["B", "A"];
  const inside = (w) => w.map((value) => Math.min(edge, Math.max(-edge, value)));
  const gradients = (task, w) => { const [answer, model] = ANSWERS[task](w); return [model, model.map((m) => m * answer)]; };
  const learned = [inside(start)];
  for (let i = 0; i < STEPS; i++) learned.push(inside(plus(learned.at(-1), gradients(old, learned.at(-1))[1], -RATE)));
  const [stored] = gradients(old, learned.at(-1));  // OGD keeps the model gradient at the end of the task
  const walks = {};
  for (const method of methods) {
    const points = [learned.at(-1)];
    for (let i = 0; i < STEPS; i++) {
      const w = points.at(-1);
      let g = gradients(fresh, w)[1];
      const guard = method === "agem" ? gradients(old, w)[1] : stored;
      const product = dot(g, guard);
      if ((method === "agem" && product < 0) || method === "ogd") g = plus(g, guard, -product / dot(guard, guard));
      points.push(inside(plus(w, g, -RATE)));
    }
    walks[method] = { points, loss: points.map((w) => ANSWERS[old](w)[0] ** 2 / 2) };
  }
  const ends = methods.map((m) => `${names[m]} ${walks[m].loss.at(-1).toFixed(2)}`).join(", ");
  return { old, new: fresh, learned, walks, sentence: `Loss of the old task ${old} after the new task ${fresh} was learned: ${ends}.` };
}
