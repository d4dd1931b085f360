internal import FerryCommand

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

exit(FerryCommand.run(arguments: Array(CommandLine.arguments.dropFirst())))
