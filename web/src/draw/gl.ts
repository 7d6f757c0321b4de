// Programs, buffers of instances and textures over WebGL 2.

/** Opens the context, or throws an error that can be shown. */
export function openContext(canvas: HTMLCanvasElement): WebGL2RenderingContext {
  const gl = canvas.getContext("webgl2", {
    alpha: false, antialias: false, depth: false, stencil: false, preserveDrawingBuffer: false,
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

const firstInstances = 256;

/** Instances in memory and on the GPU. They are uploaded when they changed, not for each frame. */
export class Instances {
  f: Float32Array;
  u: Uint32Array;
  count = 0;
  private readonly stride: number;
  private readonly array: WebGLVertexArrayObject;
  private readonly buffer: WebGLBuffer;
  private room = 0;

  /** `divisor` 0: these are vertices and not instances. */
  constructor(private readonly gl: WebGL2RenderingContext, attributes: readonly Attribute[],
    divisor = 1) {
    this.stride = attributes.reduce((sum, { words }) => sum + words, 0);
    this.f = new Float32Array(firstInstances * this.stride);
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
      gl.vertexAttribDivisor(location, divisor);
      offset += 4 * words;
    });
    gl.bindVertexArray(null);
  }

  reset(): void {
    this.count = 0;
  }

  /** Adds an instance and returns the place of its first word in `f` and `u`. */
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
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    if (this.u.byteLength > this.room) {
      gl.bufferData(gl.ARRAY_BUFFER, this.u, gl.DYNAMIC_DRAW);
      this.room = this.u.byteLength;
    } else {
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.u, 0, this.count * this.stride);
    }
  }

  /** Draws each instance as a strip of so many vertices. */
  drawStrips(vertices: number): void {
    if (this.count === 0) return;
    this.gl.bindVertexArray(this.array);
    this.gl.drawArraysInstanced(this.gl.TRIANGLE_STRIP, 0, vertices, this.count);
  }

  /** Draws vertices as triangles. */
  drawTriangles(): void {
    if (this.count === 0) return;
    this.gl.bindVertexArray(this.array);
    this.gl.drawArrays(this.gl.TRIANGLES, 0, this.count);
  }

  delete(): void {
    this.gl.deleteVertexArray(this.array);
    this.gl.deleteBuffer(this.buffer);
  }
}

/** How texels are stored. */
export interface Format {
  internal: number;
  format: number;
  type: number;
  linear: boolean;
}

// The numbers are constants of WebGL 2, written out so that this is known before a context is.
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
