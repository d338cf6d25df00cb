"""common.py: definitions that several contracts' oracles use and no library has; make.py reads them, and those of the
file that names the module, into the scope of each oracle. Each is the formula of the function's help,
in f64, written without regard to speed."""


def exact(f, *arrays, digits=60):
    """f of mpmath numbers for each element of arrays that broadcast: a definition computed to many digits."""
    broadcast = np.broadcast_arrays(*arrays)
    out = np.empty(broadcast[0].shape, np.float64)
    with mp.workdps(digits):
        for place in np.ndindex(out.shape):
            out[place] = float(f(*(mp.mpf(float(a[place])) for a in broadcast)))
    return out
