// Programs, batches of shapes and textures over WebGL 2.

/** Opens the context, or throws an error that can be shown. `alpha`: the page shows through. */
export function openContext(canvas: HTMLCanvasElement, alpha = false): WebGL2RenderingContext {
  const gl = canvas.getContext("webgl2", {
    alpha, antialias: false, depth: false, stencil: false, preserveDrawingBuffer: false,
  });
  if (!gl) throw new Error("this browser has no WebGL 2, which the pictures are drawn with");
  return gl;
}

export class Program {
  private readonly program: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();

  constructor(private readonly gl: WebGL2RenderingContext, vertex: string, fragment: string) {
    const program = gl.createProgram();
    const shaders = [
      compile(gl, gl.VERTEX_SHADER, vertex), compile(gl, gl.FRAGMENT_SHADER, fragment),
    ];
    for (const shader of shaders) gl.attachShader(program, shader);
    gl.linkProgram(program);
    for (const shader of shaders) gl.deleteShader(shader);
    // A lost context links nothing, and that is not a fault of the program.
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`a program cannot be linked: ${gl.getProgramInfoLog(program) ?? ""}`);
    }
    this.program = program;
  }

  /** The program is used from here on, with textures in units 0 (its own) and 1 (palettes). */
  use(): void {
    this.gl.useProgram(this.program);
    this.gl.uniform1i(this.place("uTexture"), 0);
    this.gl.uniform1i(this.place("uPalette"), 1);
  }

  place(name: string): WebGLUniformLocation | null {
    let place = this.places.get(name);
    if (place === undefined) {
      place = this.gl.getUniformLocation(this.program, name);
      this.places.set(name, place);
    }
    return place;
  }

  delete(): void {
    this.gl.deleteProgram(this.program);
  }
}

function compile(gl: WebGL2RenderingContext, type: number, source: string): WebGLShader {
  const shader = gl.createShader(type);
  if (!shader) throw new Error("a shader cannot be made");
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
    throw new Error(`a shader cannot be compiled: ${gl.getShaderInfoLog(shader) ?? ""}`);
  }
  return shader;
}

/** An attribute of so many 32-bit words. */
export interface Attribute {
  words: 1 | 2 | 4;
  integer: boolean;
}

export const floats = (words: 1 | 2 | 4): Attribute => ({ words, integer: false });
export const integers = (words: 1 | 2 | 4): Attribute => ({ words, integer: true });

/** The triangles of a shape. gl_VertexID modulo the vertices is the corner of a vertex. */
export interface Pattern {
  vertices: 1 | 4 | 8;
  triangles: readonly number[];
}

/** A rectangle of the corners (0, 0), (1, 0), (0, 1), (1, 1). */
export const quad: Pattern = { vertices: 4, triangles: [0, 1, 2, 2, 1, 3] };
/** An outline: the inner and the outer side of each corner in turn, around the rectangle. */
export const ring: Pattern = {
  vertices: 8,
  triangles: [0, 2, 4, 6].flatMap((at) => {
    const next = (at + 2) % 8;
    return [at, at + 1, next, next, at + 1, next + 1];
  }),
};
/** The inner side of an outline. */
export const ringArea: Pattern = { vertices: 8, triangles: [0, 2, 4, 4, 6, 0] };
/** A vertex of a triangle. */
export const vertex: Pattern = { vertices: 1, triangles: [0] };

const firstShapes = 256;

/**
 * Batch in memory and on the GPU. They are uploaded when they changed, not for each frame.
 *
 * Each vertex holds the attributes of its shape, so that one call draws all shapes. Instances would
 * take less memory, but software GL (SwiftShader) draws them one by one, at some 10 us each.
 */
export class Batch {
  f: Float32Array;
  u: Uint32Array;
  count = 0;
  private readonly stride: number;
  private readonly array: WebGLVertexArrayObject;
  private readonly buffer: WebGLBuffer;
  private readonly indices = new Map<Pattern, { buffer: WebGLBuffer; shapes: number }>();
  private staged = new Uint32Array(0);
  private room = 0;

  constructor(private readonly gl: WebGL2RenderingContext, attributes: readonly Attribute[],
    private readonly pattern = quad) {
    this.stride = attributes.reduce((sum, { words }) => sum + words, 0);
    this.f = new Float32Array(firstShapes * this.stride);
    this.u = new Uint32Array(this.f.buffer);
    this.array = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    let offset = 0;
    attributes.forEach(({ words, integer }, location) => {
      gl.enableVertexAttribArray(location);
      const bytes = 4 * this.stride;
      if (integer) gl.vertexAttribIPointer(location, words, gl.UNSIGNED_INT, bytes, offset);
      else gl.vertexAttribPointer(location, words, gl.FLOAT, false, bytes, offset);
      offset += 4 * words;
    });
    gl.bindVertexArray(null);
  }

  reset(): void {
    this.count = 0;
  }

  /** Adds a shape and returns the place of its first word in `f` and `u`. */
  next(): number {
    const at = this.count * this.stride;
    if (at + this.stride > this.f.length) {
      const grown = new Float32Array(2 * this.f.length);
      // Words are copied as integers: a code may look like a signalling NaN.
      new Uint32Array(grown.buffer).set(this.u);
      this.f = grown;
      this.u = new Uint32Array(grown.buffer);
    }
    this.count++;
    return at;
  }

  upload(): void {
    const { gl } = this;
    if (this.count === 0) return;
    const words = this.stage();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    if (this.staged.byteLength > this.room) {
      gl.bufferData(gl.ARRAY_BUFFER, this.staged, gl.DYNAMIC_DRAW);
      this.room = this.staged.byteLength;
    } else {
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.staged, 0, words);
    }
  }

  /** Draws all shapes, by default with the pattern that they were made for. */
  draw(pattern = this.pattern): void {
    const { gl, count } = this;
    if (count === 0) return;
    gl.bindVertexArray(this.array);
    if (pattern.vertices === 1) {
      gl.drawArrays(gl.TRIANGLES, 0, count);
      return;
    }
    this.bindIndices(pattern);
    gl.drawElements(gl.TRIANGLES, count * pattern.triangles.length, gl.UNSIGNED_INT, 0);
  }

  delete(): void {
    this.gl.deleteVertexArray(this.array);
    this.gl.deleteBuffer(this.buffer);
    for (const { buffer } of this.indices.values()) this.gl.deleteBuffer(buffer);
    this.indices.clear();
  }

  /** Copies each shape to its vertices. Returns the number of words. */
  private stage(): number {
    const { u, count, stride, pattern: { vertices } } = this;
    const words = count * stride * vertices;
    if (this.staged.length < words) this.staged = new Uint32Array(u.length * vertices);
    const { staged } = this;
    let to = 0;
    for (let from = 0; from < count * stride; from += stride) {
      for (let copy = 0; copy < vertices; copy++) {
        for (let word = 0; word < stride; word++) staged[to++] = u[from + word];
      }
    }
    return words;
  }

  private bindIndices(pattern: Pattern): void {
    const { gl, count } = this;
    let made = this.indices.get(pattern);
    if (!made) {
      made = { buffer: gl.createBuffer(), shapes: 0 };
      this.indices.set(pattern, made);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.buffer);
    if (made.shapes >= count) return;
    made.shapes = this.f.length / this.stride;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indicesOf(pattern, made.shapes), gl.STATIC_DRAW);
  }
}

/** Returns the vertices of the triangles of `shapes` shapes. */
export function indicesOf({ vertices, triangles }: Pattern, shapes: number): Uint32Array {
  const all = new Uint32Array(shapes * triangles.length);
  for (let shape = 0, to = 0; shape < shapes; shape++) {
    for (const at of triangles) all[to++] = shape * vertices + at;
  }
  return all;
}

/** The storage of texels. */
export interface Format {
  internal: number;
  format: number;
  type: number;
  linear: boolean;
}

// The numbers are constants of WebGL 2, written out since there is no context yet.
export const rgba8: Format = { internal: 0x8058, format: 0x1908, type: 0x1401, linear: true };
export const r8ui: Format = { internal: 0x8232, format: 0x8d94, type: 0x1401, linear: false };
export const r16ui: Format = { internal: 0x8234, format: 0x8d94, type: 0x1403, linear: false };
export const r32ui: Format = { internal: 0x8236, format: 0x8d94, type: 0x1405, linear: false };
export const r32f: Format = { internal: 0x822e, format: 0x1903, type: 0x1406, linear: false };
export const rgba32f: Format = { internal: 0x8814, format: 0x1908, type: 0x1406, linear: false };

/** An array of textures of one size. Leaves it bound. */
export function textureArray(gl: WebGL2RenderingContext, { internal, linear }: Format,
  width: number, height: number, layers: number, levels: number): WebGLTexture {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
  gl.texStorage3D(gl.TEXTURE_2D_ARRAY, levels, internal, width, height, layers);
  const near = linear ? gl.LINEAR : gl.NEAREST;
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MAG_FILTER, near);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER,
    levels > 1 ? gl.LINEAR_MIPMAP_LINEAR : near);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  return texture;
}
