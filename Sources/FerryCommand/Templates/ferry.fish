# Completion of ferry for fish, created by: ferry completions fish
function __ferry_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (ferry __complete $words[2..] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case :folder
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c ferry -f -a '(__ferry_complete)'
