// The shaders. World coordinates become device pixels by uView: scale, x, y.
//
// A code is 32 bits: the place in a palette (16), the palette (8), a flag (1).

const head = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
precision highp usampler2DArray;
`;

const transform = `
uniform vec3 uView;
uniform vec2 uWindowSize;
vec2 toPixels(vec2 world) { return world * uView.x + uView.yz; }
vec4 toClip(vec2 pixels) {
  vec2 unit = pixels / uWindowSize;
  return vec4(unit.x * 2.0 - 1.0, 1.0 - unit.y * 2.0, 0.0, 1.0);
}
vec2 corner() { return vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1); }
const vec4 nowhere = vec4(2.0, 2.0, 2.0, 1.0);
`;

/** Palettes are squares of 256 x 256 colours, one layer each; alpha 0 hides. */
const palette = `
uniform sampler2DArray uPalette;
vec4 colorOf(uint code) {
  return texelFetch(uPalette,
    ivec3(int(code & 255u), int((code >> 8) & 255u), int((code >> 16) & 255u)), 0);
}
`;

const flatColor = `${head}
flat in vec4 vColor;
out vec4 color;
void main() { color = vec4(vColor.rgb * vColor.a, vColor.a); }
`;

export const pictureVertex = `${head}${transform}
layout(location = 0) in vec4 rect;
layout(location = 1) in vec4 texels;
layout(location = 2) in float layer;
out vec2 vTexel;
flat out vec4 vBounds;
flat out float vLayer;
flat out float vCrisp;
void main() {
  vec2 at = corner();
  vTexel = mix(texels.xy, texels.zw, at);
  vBounds = vec4(texels.xy + 0.5, texels.zw - 0.5);
  vLayer = layer;
  float magnified = (rect.z - rect.x) * uView.x / max(texels.z - texels.x, 1.0);
  vCrisp = magnified >= 2.0 ? 1.0 : 0.0;
  gl_Position = toClip(toPixels(mix(rect.xy, rect.zw, at)));
}
`;

/** uRange: the value that is black, and the factor to white. uGray: there is one channel. */
export const pictureFragment = `${head}
uniform sampler2DArray uTexture;
uniform vec2 uTextureSize;
uniform vec2 uRange;
uniform bool uGray;
in vec2 vTexel;
flat in vec4 vBounds;
flat in float vLayer;
flat in float vCrisp;
out vec4 color;
void main() {
  vec2 texel = vCrisp > 0.5 ? floor(vTexel) + 0.5 : vTexel;
  texel = clamp(texel, vBounds.xy, vBounds.zw);
  vec4 value = texture(uTexture, vec3(texel / uTextureSize, vLayer));
  if (uGray) value = vec4(value.rrr, 1.0);
  color = vec4(clamp((value.rgb - uRange.x) * uRange.y, 0.0, 1.0), value.a);
}
`;

export const segmentsVertex = `${head}${transform}
layout(location = 0) in vec4 rect;
layout(location = 1) in vec4 texels;
layout(location = 2) in float layer;
layout(location = 3) in uint code;
out vec2 vTexel;
flat out vec4 vBounds;
flat out int vLayer;
flat out uint vPalette;
void main() {
  vec2 at = corner();
  vTexel = mix(texels.xy, texels.zw, at);
  vBounds = vec4(texels.xy, texels.zw - 1.0);
  vLayer = int(layer);
  vPalette = code & 0xff0000u;
  gl_Position = toClip(toPixels(mix(rect.xy, rect.zw, at)));
}
`;

export const segmentsFragment = `${head}${palette}
uniform usampler2DArray uTexture;
in vec2 vTexel;
flat in vec4 vBounds;
flat in int vLayer;
flat in uint vPalette;
out vec4 color;
void main() {
  ivec2 texel = ivec2(clamp(floor(vTexel), vBounds.xy, vBounds.zw));
  uint value = texelFetch(uTexture, ivec3(texel, vLayer), 0).r;
  vec4 c = colorOf(vPalette | (value & 0xffffu));
  if (c.a == 0.0) discard;
  color = vec4(c.rgb * c.a, c.a);
}
`;

/** Each texel has one bit for each of up to 32 masks; the classes of the masks are 16 bits each. */
export const bitsVertex = `${head}${transform}
layout(location = 0) in vec4 rect;
layout(location = 1) in vec4 texels;
layout(location = 2) in float layer;
layout(location = 3) in uint code;
layout(location = 4) in uvec4 classes0;
layout(location = 5) in uvec4 classes1;
layout(location = 6) in uvec4 classes2;
layout(location = 7) in uvec4 classes3;
out vec2 vTexel;
flat out vec4 vBounds;
flat out int vLayer;
flat out uint vPalette;
flat out uvec4 vClasses0;
flat out uvec4 vClasses1;
flat out uvec4 vClasses2;
flat out uvec4 vClasses3;
void main() {
  vec2 at = corner();
  vTexel = mix(texels.xy, texels.zw, at);
  vBounds = vec4(texels.xy, texels.zw - 1.0);
  vLayer = int(layer);
  vPalette = code & 0xff0000u;
  vClasses0 = classes0;
  vClasses1 = classes1;
  vClasses2 = classes2;
  vClasses3 = classes3;
  gl_Position = toClip(toPixels(mix(rect.xy, rect.zw, at)));
}
`;

export const bitsFragment = `${head}${palette}
uniform usampler2DArray uTexture;
in vec2 vTexel;
flat in vec4 vBounds;
flat in int vLayer;
flat in uint vPalette;
flat in uvec4 vClasses0;
flat in uvec4 vClasses1;
flat in uvec4 vClasses2;
flat in uvec4 vClasses3;
out vec4 color;
uint classOf(int mask) {
  uvec4 four = mask < 8 ? vClasses0 : mask < 16 ? vClasses1 : mask < 24 ? vClasses2 : vClasses3;
  uint two = four[(mask >> 1) & 3];
  return (mask & 1) == 0 ? two & 0xffffu : two >> 16;
}
void main() {
  ivec2 texel = ivec2(clamp(floor(vTexel), vBounds.xy, vBounds.zw));
  uint bits = texelFetch(uTexture, ivec3(texel, vLayer), 0).r;
  if (bits == 0u) discard;
  vec4 sum = vec4(0.0);
  while (bits != 0u) {
    // The exponent of a power of two is the place of its bit.
    uint lowest = bits & (~bits + 1u);
    int mask = int(floatBitsToUint(float(lowest)) >> 23) - 127;
    vec4 c = colorOf(vPalette | classOf(mask));
    sum = vec4(c.rgb * c.a, c.a) + sum * (1.0 - c.a);
    bits ^= lowest;
  }
  color = sum;
}
`;

/** The outline of a rectangle: inner and outer corners in turn. Without a stroke: the rectangle. */
export const ringVertex = `${head}${transform}${palette}
layout(location = 0) in vec4 rect;
layout(location = 1) in uint code;
uniform float uStroke;
uniform float uFill;
flat out vec4 vColor;
void main() {
  vColor = colorOf(code);
  vColor.a *= uFill;
  int at = (gl_VertexID >> 1) & 3;
  vec2 side = vec2(at == 1 || at == 2 ? 1.0 : 0.0, at >= 2 ? 1.0 : 0.0);
  vec2 pixels = toPixels(mix(rect.xy, rect.zw, side));
  float out_ = (gl_VertexID & 1) == 0 ? -0.5 : 0.5;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(pixels + (side * 2.0 - 1.0) * out_ * uStroke);
}
`;

export const rectVertex = `${head}${transform}${palette}
layout(location = 0) in vec4 rect;
layout(location = 1) in uint code;
uniform float uFill;
flat out vec4 vColor;
void main() {
  vColor = colorOf(code);
  vColor.a *= uFill;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(toPixels(mix(rect.xy, rect.zw, corner())));
}
`;

export const triangleVertex = `${head}${transform}${palette}
layout(location = 0) in vec2 point;
layout(location = 1) in uint code;
uniform float uFill;
flat out vec4 vColor;
void main() {
  vColor = colorOf(code);
  vColor.a *= uFill;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(toPixels(point));
}
`;

export const flatFragment = flatColor;

/** A line is as wide at any zoom; half a pixel more on each side makes it smooth. */
export const lineVertex = `${head}${transform}${palette}
layout(location = 0) in vec4 ends;
layout(location = 1) in uint code;
uniform float uStroke;
flat out vec4 vColor;
out float vAcross;
void main() {
  vColor = colorOf(code);
  vec2 from = toPixels(ends.xy);
  vec2 to = toPixels(ends.zw);
  vec2 along = to - from;
  float size = length(along);
  along = size > 0.0 ? along / size : vec2(1.0, 0.0);
  float reach = uStroke * 0.5 + 0.5;
  vec2 at = corner();
  vAcross = (at.y * 2.0 - 1.0) * reach;
  vec2 pixels = mix(from, to, at.x) + vec2(-along.y, along.x) * vAcross
    + along * (at.x * 2.0 - 1.0) * uStroke * 0.25;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(pixels);
}
`;

export const lineFragment = `${head}
uniform float uStroke;
flat in vec4 vColor;
in float vAcross;
out vec4 color;
void main() {
  float a = vColor.a * clamp(uStroke * 0.5 + 0.5 - abs(vAcross), 0.0, 1.0);
  color = vec4(vColor.rgb * a, a);
}
`;

export const pointVertex = `${head}${transform}${palette}
layout(location = 0) in vec2 point;
layout(location = 1) in uint code;
uniform float uRadius;
flat out vec4 vColor;
flat out float vHollow;
out vec2 vAt;
void main() {
  vColor = colorOf(code);
  vHollow = float((code >> 24) & 1u);
  float reach = uRadius + 1.0;
  vAt = (corner() * 2.0 - 1.0) * reach;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(toPixels(point) + vAt);
}
`;

export const pointFragment = `${head}
uniform float uRadius;
flat in vec4 vColor;
flat in float vHollow;
in vec2 vAt;
out vec4 color;
void main() {
  float distance = length(vAt);
  float a = vColor.a * clamp(uRadius + 0.5 - distance, 0.0, 1.0);
  float core = clamp(uRadius * 0.65 + 0.5 - distance, 0.0, 1.0);
  // The rim is dark, so that a point shows on a picture of its own colour.
  vec3 c = mix(vColor.rgb * 0.3, vHollow > 0.5 ? vec3(1.0) : vColor.rgb, core);
  if (vHollow > 0.5) c = mix(vColor.rgb, c, core);
  color = vec4(c * a, a);
}
`;

/** The flag of a code puts the colour behind the text instead of into it. */
export const textVertex = `${head}${transform}${palette}
layout(location = 0) in vec2 anchor;
layout(location = 1) in vec4 place;
layout(location = 2) in vec2 origin;
layout(location = 3) in uint code;
flat out vec4 vColor;
flat out float vBehind;
out vec2 vTexel;
void main() {
  vColor = colorOf(code);
  vBehind = float((code >> 24) & 1u);
  vec2 at = corner() * place.zw;
  vTexel = origin + at;
  gl_Position = vColor.a == 0.0 ? nowhere : toClip(floor(toPixels(anchor) + place.xy + 0.5) + at);
}
`;

export const textFragment = `${head}
uniform sampler2D uTexture;
flat in vec4 vColor;
flat in float vBehind;
in vec2 vTexel;
out vec4 color;
void main() {
  float ink = texelFetch(uTexture, ivec2(vTexel), 0).r;
  if (vBehind < 0.5) {
    color = vec4(vColor.rgb, 1.0) * (vColor.a * ink);
  } else {
    float bright = dot(vColor.rgb * vColor.rgb, vec3(0.2126, 0.7152, 0.0722));
    vec3 c = mix(vColor.rgb, vec3(bright > 0.18 ? 0.0 : 1.0), ink);
    color = vec4(c * vColor.a, vColor.a);
  }
}
`;

/** A picture of the overlays, with alpha multiplied in. Its first row is at the bottom. */
export const layerVertex = `${head}${transform}
layout(location = 0) in vec4 rect;
out vec2 vTexel;
void main() {
  vec2 at = corner();
  vTexel = vec2(at.x, 1.0 - at.y);
  gl_Position = toClip(toPixels(mix(rect.xy, rect.zw, at)));
}
`;

export const layerFragment = `${head}
uniform sampler2D uTexture;
in vec2 vTexel;
out vec4 color;
void main() { color = texture(uTexture, vTexel); }
`;

/** Lines of a grid, copied texel by texel: the layer, and the top of the line in it, from its
 * bottom. */
export const linesVertex = `${head}${transform}
layout(location = 0) in vec4 rect;
layout(location = 1) in vec2 line;
out vec2 vTexel;
flat out int vLayer;
void main() {
  vec2 at = corner();
  vec2 size = rect.zw - rect.xy;
  vTexel = vec2(at.x * size.x, line.y - at.y * size.y);
  vLayer = int(line.x);
  gl_Position = toClip(toPixels(mix(rect.xy, rect.zw, at)));
}
`;

export const linesFragment = `${head}
uniform sampler2DArray uTexture;
in vec2 vTexel;
flat in int vLayer;
out vec4 color;
void main() { color = texelFetch(uTexture, ivec3(ivec2(vTexel), vLayer), 0); }
`;
