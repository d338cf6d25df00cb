--- sbom.lua: what the packages of a release hold, are made of and are linked with, as SPDX 2.3 in JSON.
--
--     luajit sbom.lua BUILD ARCHIVE COMMIT EPOCH      prints the document
--
-- BUILD is the folder in which the packages were made, on the same Debian. Written by hand are only licenses and parts
-- of which no tool knows (INSIDE): readelf names the shared libraries of the files in BUILD, the packages recommend and
-- suggest the libraries that are loaded at run time, versions come from dpkg.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"

local build, archive, commit, epoch = arg[1], arg[2], arg[3], tonumber(arg[4])
if not epoch then files.fail("usage: sbom.lua BUILD ARCHIVE COMMIT EPOCH") end
local NONE = "NOASSERTION"

-- Licenses, as LICENSE-NOTES.md has them, by Debian's source packages.
local LICENSES = {
    luajit = "MIT", readline = "GPL-3.0-or-later", ["llvm-toolchain-19"] = "Apache-2.0 WITH LLVM-exception",
    ["gcc-12"] = "GPL-3.0-or-later WITH GCC-exception-3.1", zlib = "Zlib", libzstd = "BSD-3-Clause OR GPL-2.0-only",
    openmpi = "BSD-3-Clause", glibc = "LGPL-2.1-or-later", openblas = "BSD-3-Clause", onednn = "Apache-2.0",
    fftw3 = "GPL-2.0-or-later", suitesparse = "LGPL-2.1-or-later",
    zeromq3 = "LGPL-3.0-or-later WITH LGPL-3.0-linking-exception", libsodium = "ISC",
}
-- Those of what is inside of a package of ours, beside MIT.
local BESIDES = { neap = " AND GPL-3.0-or-later", ["neap-native"] = " AND Apache-2.0 WITH LLVM-exception" }
-- What is inside of files of the packages: file, package of Debian, whose version counts (false: the version itself).
local INSIDE = {
    { "neap_native.so", "llvm-19-dev" }, { "neap_native.so", "libstdc++-12-dev" },
    { "neap_native.so", "libgcc-12-dev" },
    { "neap", false, name = "Unicode Character Database", version = "16.0.0", license = "Unicode-3.0" },
}

local function output(line)
    return (files.command(line):gsub("%s+$", ""))
end

-- ---- JSON -----------------------------------------------------------------------------------------------------------

--- A value as JSON: a list, or a table whose keys come in order.
local function json(value)
    if type(value) == "string" then return '"' .. value:gsub('[%c"\\]', function(c)
        return ("\\u%04x"):format(c:byte())
    end) .. '"' end
    if type(value) ~= "table" then return tostring(value) end
    local pieces, keys = {}, {}
    for key in pairs(value) do keys[#keys + 1] = key end
    if #value > 0 or #keys == 0 then
        for k, entry in ipairs(value) do pieces[k] = json(entry) end
        return "[\n" .. table.concat(pieces, ",\n") .. "]"
    end
    table.sort(keys)
    for k, key in ipairs(keys) do pieces[k] = json(key) .. ": " .. json(value[key]) end
    return "{" .. table.concat(pieces, ", ") .. "}"
end

-- ---- The list -------------------------------------------------------------------------------------------------------

local packages, relations, ids = {}, {}, {}

--- Adds a package, once; returns its identifier.
local function add(name, fields)
    local id = "SPDXRef-" .. name:gsub("[^%w.-]", "-")
    if ids[id] then return id end
    ids[id] = true
    local entry = { name = name, SPDXID = id, downloadLocation = NONE, filesAnalyzed = false, copyrightText = NONE,
                    licenseConcluded = NONE, licenseDeclared = NONE }
    for key, value in pairs(fields) do entry[key] = value end
    packages[#packages + 1] = entry
    return id
end

local function relate(from, how, to)
    relations[#relations + 1] = { spdxElementId = from, relationshipType = how, relatedSpdxElement = to }
end

--- Adds a package of Debian that is installed here; nil if it is not.
local function add_debian(name)
    local told = output("dpkg-query -W -f '${Version} ${source:Package} ${Architecture}' " .. files.quote(name)
                        .. " 2>/dev/null || true")
    local version, source, architecture = told:match "^(%S+) (%S+) (%S+)$"
    if not version then return nil end
    local purl = ("pkg:deb/debian/%s@%s?arch=%s"):format(name, version, architecture)
    return add(name, {
        versionInfo = version, supplier = "Organization: Debian", licenseDeclared = LICENSES[source] or NONE,
        externalRefs = { { referenceCategory = "PACKAGE-MANAGER", referenceType = "purl", referenceLocator = purl } },
    })
end

local function sha256(path)
    return { { algorithm = "SHA256", checksumValue = output("sha256sum " .. files.quote(path)):match "^%x+" } }
end

--- The package of Debian that has a shared library of this name.
local function package_of(soname)
    local path = output("ldconfig -p | sed -n 's/^\t" .. soname .. " .*x86-64.* => //p' | head -n 1")
    local real = path ~= "" and output("readlink -f " .. path)
    if not real then return nil end
    local told = output(("dpkg -S %s 2>/dev/null || dpkg -S %s 2>/dev/null || true"):format(real,
                                                                                          real:gsub("^/usr/", "/")))
    return told:match "^([^:,]+)"
end

-- ---- What there is --------------------------------------------------------------------------------------------------

local source = add(archive:match "[^/]*$", {
    versionInfo = commit, licenseDeclared = "MIT", packageFileName = archive:match "[^/]*$",
    checksums = sha256(archive), primaryPackagePurpose = "SOURCE", supplier = "Organization: The neap authors",
})
local described, of_file = { source }, {}
local PARTS = { neap = { "neap", "libneap.so", "neap_cuda.so" }, ["neap-mpi"] = { "neap_mpi.so" },
                ["neap-native"] = { "neap_native.so" } }

for deb in output("ls " .. files.quote(build) .. "/packages/*.deb"):gmatch "[^\n]+" do
    local name = output("dpkg-deb -f " .. files.quote(deb) .. " Package")
    local id = add(deb:match "[^/]*$", {
        versionInfo = output("dpkg-deb -f " .. files.quote(deb) .. " Version"), packageFileName = deb:match "[^/]*$",
        checksums = sha256(deb), supplier = "Organization: The neap authors",
        licenseDeclared = "MIT" .. (BESIDES[name] or ""),
    })
    described[#described + 1] = id
    relate(id, "GENERATED_FROM", source)
    for _, file in ipairs(PARTS[name]) do of_file[file] = id end
    local wants = output("dpkg-deb -f " .. files.quote(deb) .. " Recommends Suggests"):gsub("%w+:", "")
    for wanted in wants:gmatch "[%w.+-]+" do
        local other = not PARTS[wanted] and add_debian(wanted)
        if other then relate(other, "OPTIONAL_DEPENDENCY_OF", id) end
    end
end

for file, id in pairs(of_file) do
    local needed = output("readelf -d " .. files.quote(build .. "/" .. file))
    for soname in needed:gmatch "%(NEEDED%)[^\n]-%[([^%]]+)%]" do
        local name = package_of(soname)
        if not name then files.fail("sbom.lua: no package of Debian has %s, which %s needs", soname, file) end
        relate(id, "DYNAMIC_LINK", add_debian(name))
    end
end
local variant = files.read(build .. "/deps/luajit/variant"):match "^%a+ (%S+)"
relate(of_file.neap, "STATIC_LINK", add("LuaJIT, with the changes of tools/luajit-patches", {
    versionInfo = variant, licenseDeclared = "MIT" }))
for _, entry in ipairs(INSIDE) do
    local id = entry[2] and add_debian(entry[2])
        or entry.name and add(entry.name, { versionInfo = entry.version, licenseDeclared = entry.license })
    local deb = of_file[entry[1]]
    if deb and entry[2] and id then relate(deb, "STATIC_LINK", id) end
    if deb and entry.name then relate(id, "DATA_FILE_OF", deb) end
end
for _, name in ipairs { "gcc", "cmake", "ninja-build", "binutils", "clang-19", "luajit" } do
    local id = add_debian(name)
    if id then
        for k = 2, #described do relate(id, "BUILD_TOOL_OF", described[k]) end
    end
end

table.sort(packages, function(a, b) return a.SPDXID < b.SPDXID end)
local seen, once = {}, {}
for _, relation in ipairs(relations) do
    local key = relation.spdxElementId .. " " .. relation.relationshipType .. " " .. relation.relatedSpdxElement
    if not seen[key] then once[#once + 1] = { key, relation } end
    seen[key] = true
end
table.sort(once, function(a, b) return a[1] < b[1] end)
for k, entry in ipairs(once) do once[k] = entry[2] end

-- A namespace that no other document has: the commit, in the form of a UUID of version 8.
local uuid = ("%s-%s-8%s-8%s-%s"):format(commit:sub(1, 8), commit:sub(9, 12), commit:sub(13, 15), commit:sub(16, 18),
                                         commit:sub(19, 30))
print(json {
    spdxVersion = "SPDX-2.3", dataLicense = "CC0-1.0", SPDXID = "SPDXRef-DOCUMENT",
    name = archive:match "([^/]*)%.tar%.gz$", documentNamespace = "urn:uuid:" .. uuid, documentDescribes = described,
    creationInfo = { created = os.date("!%Y-%m-%dT%H:%M:%SZ", epoch),
                     creators = { "Organization: The neap authors", "Tool: neap-tools-release" } },
    packages = packages, relationships = once,
})
