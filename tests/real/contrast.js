// [how many were looked at, those too near to their ground]: words against 4.5, marks, edges and shapes against 3.
() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => [0, 1, 2].map(n => top[n] * top[3] + below[n] * (1 - top[3]));
  const light = (c) => c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  const luminance = (c) => { const [r, g, b] = light(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
  const ground = (element) => { const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      layers.push(colour);
      if (colour[3] == 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
  const poor = [];
  let seen = 0;
  const held = (element, colour, least, what) => {
    seen += 1;
    const below = ground(element), found = ratio(over(rgba(colour), below), below);
    if (found < least) poor.push([what, element.className.baseVal ?? element.className, found.toFixed(2)]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest('.unseen, script, title, desc')) continue;
    const style = getComputedStyle(element);
    held(element, element.closest('svg') ? style.fill : style.color, 4.5, walker.currentNode.textContent.slice(0, 40));
  }
  for (const mark of document.querySelectorAll('.mark')) {
    if (mark.checkVisibility()) held(mark.parentElement, getComputedStyle(mark).stroke, 3, 'mark');
  }
  for (const field of document.querySelectorAll('#search, .copy')) {
    held(field.parentElement, getComputedStyle(field).borderTopColor, 3, 'edge');
  }
  for (const shape of document.querySelectorAll('.curve, .point, .tick, .axis, .interval')) {
    held(shape.closest('figure'), getComputedStyle(shape).stroke, 3, 'shape');
  }
  for (const bar of document.querySelectorAll('.bar')) held(bar.closest('figure'), getComputedStyle(bar).fill, 3, 'bar');
  const placeholder = getComputedStyle(document.querySelector('#search') ?? document.body, '::placeholder').color;
  held(document.querySelector('#search') ?? document.body, placeholder, 4.5, 'placeholder');
  return [seen, poor];
}
