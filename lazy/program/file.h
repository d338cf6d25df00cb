/* program/file.h: the graph of a program as bytes; docs/programs.md describes the file around it.
 *
 * Numbers are unsigned LEB128 ("number"), signed ones in zigzag order first; f64 and array elements are little-endian.
 * A text is a number of bytes, then these; a list is a number, then so many entries.
 *
 * Version 4 of the format. Files of older versions can still be read: in those of versions 1 and 2 the last program is
 * the one that was saved, with nothing behind the programs; those of version 1 have no `marks` and no shardings;
 * in `sized` of version 3 are no shardings and callbacks.
 *
 *      graph    = dtypes: list of texts; ops: list of (name: text, names of its attributes: text);
 *                 callbacks: list of callback; programs: list of program;
 *                 the one that was saved: its number; 0, or 1 and what there is for its sizes: sized
 *      callback = name: text, site: text, kind: text, order: number (0 ordered, 1 unordered, 1 + NEAP_PURE_… pure),
 *                 of a pure one: which arrays are numbers, bits: number; tolerant: number, results: list of type
 *      type     = dtype: number, shape: list of numbers              (dtypes and ops: their place in the lists above)
 *      program  = inputs: list of input; items: list of item; outputs: list of (name, value: number, type)
 *      input    = name, kind: number (1 a number, 3 a weak array, 4 one of fractions, else 0), type, device, sharding,
 *                 integer dtypes that it met: list of numbers
 *      name     = 0, or 1 and a text                device = 0: committed to none, or 1 + its number
 *      sharding = 0: on no mesh, or 1 + its place in the list of section `forms`; so are attributes that name one
 *      item     = tag: number, then, by the tag,
 *                 OP        op: number, values: list of numbers, attributes: list of signed numbers, "dtype" a dtype,
 *                           the name of an axis of a collective a text;
 *                           marks: number, of these: 64 a weak array, 128 of fractions; others mean nothing
 *                 CONSTANT  dtype: number, weak: number, f64, marks: number: 2 it counts elements
 *                 ARRAY     type, device, elements in row-major order
 *                 DIVIDED   type, sharding, elements of the whole in row-major order
 *                 CALLBACK  callback: number, values: list of numbers
 *                 PRINT     kind: text, unordered: number, stream: text, site: name, pieces: list of
 *                           (what: number: 1 a text, 2 a value, 3 a value with its conversion; text; value: number)
 *                 CONTROL   op: number, programs: list of numbers, values, attributes: as for OP
 *
 *      sized    = ops: list of numbers; given programs: list of numbers; given arrays: list of array;
 *                 texts: list of texts; shardings: list of sharding; callbacks: list of numbers;
 *                 words: list of signed numbers, which lazy/sizes/save.c describes
 *      array    = kind: number (3 a weak array, 4 one of fractions, else 0); an item: ARRAY, CONSTANT or DIVIDED
 *
 * Values are numbered from the inputs on: input k is value k, and each item but PRINT is the next one. Values and
 * programs are named only behind where they stand, so there are no cycles.
 *
 * An example, all 56 bytes of it: np.trace(function(x) return x + 1 end)(np.ones(3)).
 *
 *      01 03 f32                      dtypes: one
 *      01 03 add 00                   ops: one, which has no attributes
 *      00                             no callbacks
 *      01                             one program
 *        01 01 01 x                     one input, with a name; value 0
 *           00 00 01 03                   no number; dtype 0, f32, one axis of 3
 *           00 00 00                      committed to no device, on no mesh, met no integer dtypes
 *        02                             two items
 *           01 00 00                      CONSTANT, dtype 0, not weak; value 1
 *              00 00 00 00 00 00 f0 3f      1.0 as an f64
 *              00                           no marks
 *           00 00 02 00 01 00 00          OP 0, add, of two values, 0 and 1; no attributes, no marks; value 2
 *        01 01 03 out 02 00 01 03       one output: its name, value 2, f32, one axis of 3
 *      00                             program 0 is the one that was saved
 *      00                             it is for this size
 */
#ifndef LAZY_PROGRAM_FILE_H
#define LAZY_PROGRAM_FILE_H

#include "lazy/program/listing.h"
#include "lazy/program/print.h"

enum {
    LAZY_ITEM_OP,
    LAZY_ITEM_CONSTANT,
    LAZY_ITEM_ARRAY,
    LAZY_ITEM_CALLBACK,
    LAZY_ITEM_PRINT,
    LAZY_ITEM_CONTROL,
    LAZY_ITEM_DIVIDED,
    LAZY_ITEMS
};
enum { LAZY_PIECE_TEXT = 1, LAZY_PIECE_VALUE = 2 };
enum { LAZY_INPUT_NUMBER = 1, LAZY_INPUT_WEAK = 3, LAZY_INPUT_FRACTION = 4, LAZY_INPUT_WHOLE = 5, LAZY_INPUTS = 6 };
enum { LAZY_FILE_COUNTS = 2, LAZY_FILE_WEAK = 64, LAZY_FILE_FRACTION = 128 };

/* write.c: an error if an input or output is a block, in the body of a np.shard_map; `what` opens it. */
int program_check_ports(const char *what, const neap_program *program);

#endif
