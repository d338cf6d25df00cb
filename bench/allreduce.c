/* allreduce.c: MPI_Allreduce of f32 sums alone, for the rows of bench/rows/mesh_mpi.lua.
 *
 *     mpirun -n RANKS allreduce ROUNDS BYTES…
 *
 * Rank 0 prints a line "bytes ns" for each size: the best of the rounds, each of as many calls in a row as move 16 MB
 * (at most 1000), as bench/allreduce.lua has them for neap. The memory is touched, and one call made, before.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUND_BYTES = 16 << 20, MAX_CALLS = 1000 };

static double ns_of_call(const float *from, float *to, int n, int rounds) {
    const int fits = ROUND_BYTES / (n * (int)sizeof *from), calls = fits < 1 ? 1 : fits > MAX_CALLS ? MAX_CALLS : fits;
    double best = 1e300;
    MPI_Allreduce(from, to, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; r < rounds; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int k = 0; k < calls; k++)
            MPI_Allreduce(from, to, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        const double time = (MPI_Wtime() - start) / calls * 1e9;
        best = time < best ? time : best;
    }
    return best;
}

int main(int argc, char **argv) {
    int rank, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int k = 2; k < argc && status == 0; k++) {
        const int n = atoi(argv[k]) / (int)sizeof(float);
        float *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)n * sizeof *to);
        if (n > 0 && from && to) {
            for (int i = 0; i < n; i++)
                from[i] = (float)(i % 251) / 251, to[i] = 0;
            const double ns = ns_of_call(from, to, n, rounds);
            if (rank == 0)
                printf("%zu %.6g\n", (size_t)n * sizeof *from, ns);
        } else {
            status = 1;
        }
        free(from);
        free(to);
    }
    MPI_Finalize();
    return status;
}
