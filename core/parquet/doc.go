// Package parquet reads tables in Parquet files, from any store, as columns of core/arrow, and
// writes arrays of core/arrow as such files.
//
// It owns the bytes of the format: footer, pages, encodings, compression, levels, and the schema of
// Arrow that writers add. It opens no files, and knows neither datasets nor tensors. Encrypted
// files are errs.Unsupported.
//
// A Writer holds the levels and values of a row group in memory, and writes it column by column:
// pages of version 1, plain or by numbers of a dictionary, with Zstandard where that saves bytes.
// TestWriterAtRandom holds it against the reader.
//
// Files are hostile input. A number of a file is checked before memory is allocated for it: a page
// has no more bytes than its file, values are decoded as rows of a batch need them, and what a
// decoder reads is bounded by its page. FuzzFile tries forged files.
//
// The package has a reader of its own because parquet-go 0.32 allocates what page headers declare,
// before it decompresses a page, and decodes pages as a whole. It reads values in less time than
// this package makes columns; pyarrow takes as long as this package.
package parquet
