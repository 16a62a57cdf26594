# What zsh offers at the end of the line $2, with the completion script in the folder $1. Asked twice: the first time loads the script.
zmodload zsh/zpty
zpty line zsh -f -i
zpty -w line "source ${(q)0:A:h}/asked.zsh ${(q)1}"
until [[ $said == *READY* ]]; do zpty -r line said || exit 1; done
zpty -n -w line "$2"
for time in first second; do
    zpty -n -w line $'\t'
    said=
    until [[ $said == *ENDED* ]]; do
        zpty -r line said || exit 1
        [[ $said == *"offered "* ]] && print -r -- "$time ${${said##*offered }%%[[:space:]]*}"
    done
done
zpty -d line
